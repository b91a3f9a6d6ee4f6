//! A page of the program, asked for by a script.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use crate::program::PATIENCE;

/// A page, and the token that opens it.
#[derive(Clone)]
pub struct Page {
    /// Address at which it listens.
    pub address: SocketAddr,
    /// Its token.
    pub token: String,
}

impl Page {
    /// The page at this URL with its token, as the program prints it.
    pub fn at(url: &str) -> Self {
        let parts = url.strip_prefix("http://").and_then(|rest| rest.split_once("/?token="));
        let (address, token) = parts.unwrap_or_else(|| panic!("no URL of a page: {url}"));
        Self {
            address: address.parse().expect("an address"),
            token: token.to_owned(),
        }
    }

    /// The URL that opens it.
    pub fn url(&self) -> String {
        format!("http://{}/?token={}", self.address, self.token)
    }

    /// Requests `path` with the token. Returns the connection, with the answer unread.
    pub fn ask(&self, path: &str) -> TcpStream {
        ask(self.address, path, &self.headers("localhost"))
    }

    /// Requests `path` with the token. Returns head, in lower case, and body of the answer.
    pub fn get(&self, path: &str) -> (String, Vec<u8>) {
        self.get_as(path, "127.0.0.1")
    }

    /// As [`Page::get`], under this name of the host.
    pub fn get_as(&self, path: &str, host: &str) -> (String, Vec<u8>) {
        get(self.address, path, &self.headers(host))
    }

    /// Sends `body` to `path` by `method` (POST or PUT) with the token. Returns the head of the answer, in lower case.
    pub fn send(&self, method: &str, path: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(self.address).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let (headers, length) = (self.headers("localhost"), body.len());
        let head =
            format!("{method} {path} HTTP/1.1\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n");
        stream.write_all((head + body).as_bytes()).expect("a request");
        let mut answer = Vec::new();
        // Who refuses a request may close before it has read all of it.
        let read = stream.read_to_end(&mut answer);
        assert!(read.is_ok() || !answer.is_empty(), "an answer");
        String::from_utf8_lossy(&answer).to_lowercase()
    }

    fn headers(&self, host: &str) -> String {
        format!("Host: {host}\r\nAuthorization: Bearer {}\r\n", self.token)
    }
}

/// Requests `path` with these headers, each ended by a line break. Returns the connection, with the answer unread.
pub fn ask(address: SocketAddr, path: &str, headers: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    write!(stream, "GET {path} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n").expect("a request");
    stream
}

/// Requests `path` with these headers. Returns head, in lower case, and body of the answer.
pub fn get(address: SocketAddr, path: &str, headers: &str) -> (String, Vec<u8>) {
    let mut answer = Vec::new();
    ask(address, path, headers).read_to_end(&mut answer).expect("an answer");
    let head = answer.windows(4).position(|w| w == b"\r\n\r\n").expect("a head") + 4;
    (
        String::from_utf8_lossy(&answer[..head]).to_lowercase(),
        answer[head..].to_vec(),
    )
}
