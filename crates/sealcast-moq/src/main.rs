//! Carries sealed objects between sealcast, which speaks over standard input and output, and a relay for Media over
//! QUIC. docs/relay.md describes both sides.

#![forbid(unsafe_code)]

mod connect;
mod offers;
mod open;
mod pipe;
mod publish;
mod session;
mod watch;

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use moq_net::Patterns;
use tokio::sync::{mpsc, oneshot};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use connect::{Ended, Relay};
use offers::Offers;
use open::{Open, Role};
use pipe::{Broken, Incoming, Outgoing};
use publish::Publisher;
use session::{Link, Opener, Table, Viewers};
use watch::Watcher;

/// Messages of at most [`pipe::MAX_MESSAGE`] that wait in each direction.
const MAX_QUEUED: usize = 8;
/// Bytes that are read or written at once, unless an object is larger.
const BUFFER: usize = 64 << 10;
/// Time that the last messages to sealcast may take after its input ended.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// The exit status if the input or the arguments are wrong.
const MISUSED: u8 = 2;

const SECOND_OPEN: &str = "there is a second open message";

const HELP: &str = "\
sealcast-moq: carries sealed objects and sessions between sealcast and a relay for Media over QUIC

sealcast starts this program for each relay and talks to it over standard input and output.
Messages have the form: length u32 | type u8 | fields. The first one says what to do.
The program ends when its input ends, with status 0, or when its input is wrong, with status 2.
Warnings and errors go to standard error.

 --help       print this text
 --version    print the version

docs/relay.md describes the messages.
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args_os()
        .skip(1)
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let ended = match words.as_slice() {
        [] => carry(),
        ["--help"] => print(HELP),
        ["--version"] => print(concat!("sealcast-moq ", env!("CARGO_PKG_VERSION"), "\n")),
        _ => Err("there are no arguments but --help and --version".to_owned()),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("sealcast-moq: {why}");
            ExitCode::from(MISUSED)
        }
    }
}

fn print(text: &str) -> Result<(), String> {
    io::stdout()
        .write_all(text.as_bytes())
        .map_err(|error| error.to_string())
}

/// Of the libraries only errors: their warnings are of connections that fail or end, which are states of the protocol,
/// and of the system's buffers, at each start on an ordinary machine.
fn log_to_standard_error() {
    let levels = Targets::new()
        .with_default(LevelFilter::ERROR)
        .with_target("rustls_platform_verifier", LevelFilter::OFF);
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(io::stderr)
        .with_ansi(false);
    tracing_subscriber::registry().with(lines).with(levels).init();
}

/// Speaks the pipe protocol until the input ends.
fn carry() -> Result<(), String> {
    log_to_standard_error();
    let unusable = |error: io::Error| format!("standard input or output is unusable ({error})");
    // As files: the standard library's own would look for ends of lines in the objects.
    let input = File::from(io::stdin().as_fd().try_clone_to_owned().map_err(unusable)?);
    let output = File::from(io::stdout().as_fd().try_clone_to_owned().map_err(unusable)?);
    let mut input = BufReader::with_capacity(BUFFER, input);
    let open = match pipe::read(&mut input) {
        Ok(Some(Incoming::Open(json))) => Open::parse(&json).map_err(|why| format!("open: {why}"))?,
        Ok(Some(_)) => return Err("the first message is not open (type 1)".to_owned()),
        Ok(None) => return Err("the input ended before the first message, open".to_owned()),
        Err(why) => return Err(why.to_string()),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("the system gives no resources ({error})"))?;
    let ended = runtime.block_on(run(&open, read_all(input), output));
    // A name that is being looked up is not waited for.
    runtime.shutdown_background();
    ended
}

async fn run(open: &Open, input: mpsc::Receiver<Result<Incoming, Broken>>, output: File) -> Result<(), String> {
    let (output, written) = write_all(output);
    let ended = match open.role {
        Role::Publish => publish(open, input, output).await,
        Role::Watch => watch(open, input, output).await,
    };
    // If sealcast does not read them, they are lost.
    let _ = tokio::time::timeout(LAST_WORDS, written).await;
    ended
}

async fn publish(
    open: &Open,
    mut input: mpsc::Receiver<Result<Incoming, Broken>>,
    output: mpsc::Sender<Outgoing>,
) -> Result<(), String> {
    let relay = Relay::new(open, output.clone())?;
    let origin = connect::origin();
    let (mut publisher, requests) = Publisher::new(&origin, &open.name)?;
    let sessions = Table::new(output.clone());
    let mut viewers = Viewers::new(open.name.clone(), requests, sessions.clone());
    let of_viewers = connect::paths(&format!("{}/{}/*", open.name, session::VIEWERS))?;
    let feed = async {
        while let Some(message) = input.recv().await {
            match message.map_err(|why| why.to_string())? {
                Incoming::Group(track, number) => publisher.begin(track, number)?,
                Incoming::Object(track, object) => publisher.add(track, object)?,
                Incoming::SessionData(session, bytes) => sessions.push(session, &bytes),
                Incoming::SessionClose(session) => sessions.close(session),
                Incoming::SessionOpen(_) => return Err("a publishing client opens no sessions".to_owned()),
                Incoming::Open(_) => return Err(SECOND_OPEN.to_owned()),
            }
        }
        Ok(())
    };
    let prepare = |client: moq_tokio::Client| {
        let found = connect::origin_of(&of_viewers);
        let offers = Offers::new(of_viewers.clone());
        let client = client.with_publisher(&origin).with_subscriber(found.clone());
        (client.with_stats(offers.counter()), (found, offers))
    };
    let ended = tokio::select! {
        ended = feed => ended,
        () = relay.keep(prepare, async |connection, (found, offers)| tokio::select! {
            ended = viewers.follow(connection, &found) => Ended::Closed(ended),
            () = offers.refused(&open.name) => Ended::NotTaken,
        }) => Ok(()),
        () = output.closed() => Ok(()),
    };
    publisher.close();
    relay.close().await;
    ended
}

async fn watch(
    open: &Open,
    mut input: mpsc::Receiver<Result<Incoming, Broken>>,
    output: mpsc::Sender<Outgoing>,
) -> Result<(), String> {
    let relay = Relay::new(open, output.clone())?;
    let mut watcher = Watcher::new(open.name.clone(), open.patience, output.clone());
    let outgoing = connect::origin();
    let sessions = Table::new(output.clone());
    let mut opener = Opener::new(open.name.clone(), outgoing.clone(), sessions.clone());
    let links = opener.links();
    let of_camera = connect::paths(&open.name)?;
    let feed = async {
        while let Some(message) = input.recv().await {
            match message.map_err(|why| why.to_string())? {
                Incoming::SessionOpen(session) => opener.open(session)?,
                Incoming::SessionData(session, bytes) => sessions.push(session, &bytes),
                Incoming::SessionClose(session) => sessions.close(session),
                Incoming::Group(..) | Incoming::Object(..) => {
                    return Err("a watching client takes no groups and no objects".to_owned());
                }
                Incoming::Open(_) => return Err(SECOND_OPEN.to_owned()),
            }
        }
        Ok(())
    };
    let prepare = |client: moq_tokio::Client| {
        // New ones for each connection, so that nothing of an old one is taken for new.
        let found = connect::origin_of(&of_camera);
        let offers = Arc::new(Offers::new(Patterns::new()));
        let client = client.with_publisher(&outgoing).with_subscriber(found.clone());
        (client.with_stats(offers.counter()), (found, offers))
    };
    let ended = tokio::select! {
        ended = feed => ended,
        () = relay.keep(prepare, async |connection, (found, offers)| {
            // Sessions end when it is dropped.
            let (_alive, alive) = tokio::sync::watch::channel(());
            links.send_replace(Some(Link { camera: found.consume(), offers, alive }));
            let ended = watcher.follow(connection, found).await;
            links.send_replace(None);
            Ended::Closed(ended)
        }) => Ok(()),
        () = output.closed() => Ok(()),
    };
    relay.close().await;
    ended
}

/// Reads messages in a thread of its own, until the input ends or breaks.
fn read_all(mut input: impl Read + Send + 'static) -> mpsc::Receiver<Result<Incoming, Broken>> {
    let (sender, receiver) = mpsc::channel(MAX_QUEUED);
    thread::spawn(move || {
        while let Some(message) = pipe::read(&mut input).transpose() {
            let broken = message.is_err();
            if sender.blocking_send(message).is_err() || broken {
                return;
            }
        }
    });
    receiver
}

/// Writes messages in a thread of its own. The second value is there once all are written, or nobody reads them.
fn write_all(output: File) -> (mpsc::Sender<Outgoing>, oneshot::Receiver<()>) {
    let (sender, mut receiver) = mpsc::channel(MAX_QUEUED);
    let (done, written) = oneshot::channel();
    thread::spawn(move || {
        let mut output = BufWriter::with_capacity(BUFFER, output);
        let mut next = |receiver: &mut mpsc::Receiver<Outgoing>| -> io::Result<bool> {
            let Some(first) = receiver.blocking_recv() else {
                return Ok(false);
            };
            pipe::write(&mut output, &first)?;
            while let Ok(message) = receiver.try_recv() {
                pipe::write(&mut output, &message)?;
            }
            output.flush()?;
            Ok(true)
        };
        while next(&mut receiver).unwrap_or(false) {}
        // Fails only if nobody waits for it.
        let _ = done.send(());
    });
    (sender, written)
}
