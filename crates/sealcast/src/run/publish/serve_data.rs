//! The data channels at one viewer's session.

use futures_util::stream::StreamExt as _;
use sealcast_proto::session::{Datagram, Input};
use sealcast_proto::wire::DataChannel;

use super::serve_viewer::{Task, ViewerRole, Woken};
use crate::run::data::ViewerData;
use crate::run::session::connection::Ended;
use crate::transport::Transport;

impl ViewerRole {
    /// The viewer may have the channels, if there are any.
    pub(crate) fn begin_data<T: Transport>(&mut self, task: &Task<T>) {
        let data = self.channels.as_ref().zip(task.peer);
        self.data = data.map(|(data, peer)| Box::new(ViewerData::new(data, peer.id)));
    }

    /// The viewer wants these channels: tell it which there are, and what it may do on them.
    pub(crate) fn data_wished<T: Transport>(
        &mut self,
        task: &mut Task<T>,
        wishes: Vec<DataChannel>,
    ) -> Result<(), Ended> {
        let Some(data) = &mut self.data else {
            return task.handle(Input::Data(Vec::new()));
        };
        let answer = data.wished(wishes);
        for came in data.subscribe() {
            self.rarely
                .each(came.map(|(channel, datagram)| Woken::Data(channel, datagram)));
        }
        task.handle(Input::Data(answer))
    }

    /// The viewer sent a datagram.
    pub(crate) fn data_came<T: Transport>(&mut self, task: &mut Task<T>, datagram: &Datagram) -> Result<(), Ended> {
        match self.data.as_mut().and_then(|data| data.came(datagram)) {
            Some(answer) => task.handle(Input::Data(answer)),
            None => Ok(()),
        }
    }
}
