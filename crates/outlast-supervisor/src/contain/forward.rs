//! The way to allowed hosts: a listener on the run's own loopback that leads to the user's proxy.
//!
//! It is a process of ours inside of the containment, and it alone holds the
//! proxy's socket: what is not asked of it by name has no way out. It knows
//! one word, `CONNECT`, since of another one it could not see where it ends.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use outlast_journal::limits;

/// Where it listens, on a loopback that only the run has.
pub(super) const PORT: u16 = 3_128;

/// What leads to the proxy.
#[derive(Debug)]
pub(super) struct Forward {
    listener: TcpListener,
    proxy: OwnedFd,
}

impl Forward {
    /// Listens, and sees that the proxy answers with the rights that the run has.
    pub(super) fn new(proxy: OwnedFd) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, PORT))?;
        let forward = Self { listener, proxy };
        connect(&forward.proxy)?;
        Ok(forward)
    }

    /// Serves for ever.
    pub(super) fn serve(self, hosts: &[String]) {
        let proxy = Arc::new(self.proxy);
        let hosts: Arc<[String]> = hosts.into();
        let open = Arc::new(AtomicUsize::new(0));
        while let Ok((client, _)) = self.listener.accept() {
            if open.fetch_add(1, Ordering::Relaxed) >= limits::FORWARDED_MAX {
                open.fetch_sub(1, Ordering::Relaxed);
                continue;
            }
            let (proxy, hosts) = (Arc::clone(&proxy), Arc::clone(&hosts));
            let open = Arc::clone(&open);
            thread::spawn(move || {
                // What goes wrong is the client's to see.
                handle(&client, &proxy, &hosts).ok();
                open.fetch_sub(1, Ordering::Relaxed);
            });
        }
    }
}

fn connect(proxy: &OwnedFd) -> io::Result<UnixStream> {
    UnixStream::connect(format!("/proc/self/fd/{}", proxy.as_raw_fd()))
}

fn handle(client: &TcpStream, proxy: &OwnedFd, hosts: &[String]) -> io::Result<()> {
    client.set_read_timeout(Some(Duration::from_millis(limits::FORWARD_HEAD_MS)))?;
    let head = read_head(client)?;
    let host = match target(&head) {
        Some(host) if is_allowed(host, hosts) => host,
        Some(host) => {
            let text = format!("{host} is not among the hosts that this run may talk to\n");
            return refuse(client, "403 Forbidden", &text);
        }
        None => {
            let text = "only CONNECT is forwarded: ask for https\n";
            return refuse(client, "405 Method Not Allowed", text);
        }
    };
    let Ok(mut upstream) = connect(proxy) else {
        let text = format!("the proxy that leads to {host} does not answer\n");
        return refuse(client, "502 Bad Gateway", &text);
    };
    client.set_read_timeout(None)?;
    upstream.write_all(&head)?;
    let (client_in, upstream_in) = (client.try_clone()?, upstream.try_clone()?);
    let there = thread::spawn(move || {
        pass(client_in, upstream_in, |to| to.shutdown(Shutdown::Write));
    });
    pass(upstream, client.try_clone()?, |to| {
        to.shutdown(Shutdown::Write)
    });
    there.join().ok();
    Ok(())
}

/// Copies until one side ends, and says so to the other.
fn pass<F: Read, T: Write>(mut from: F, mut to: T, end: impl Fn(&T) -> io::Result<()>) {
    io::copy(&mut from, &mut to).ok();
    end(&to).ok();
}

/// Reads up to the blank line; what came behind it is kept, since it is the client's.
fn read_head(mut client: &TcpStream) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    let mut buffer = [0; 1_024];
    while !head.windows(4).any(|four| four == b"\r\n\r\n") {
        let read = client.read(&mut buffer)?;
        if read == 0 || head.len() > limits::FORWARD_HEAD_BYTES_MAX {
            return Err(io::ErrorKind::InvalidData.into());
        }
        head.extend(buffer.get(..read).unwrap_or_default());
    }
    Ok(head)
}

/// Returns the host that a head asks for, if it asks as it may.
fn target(head: &[u8]) -> Option<&str> {
    let line = head.split(|byte| *byte == b'\r').next()?;
    let line = std::str::from_utf8(line).ok()?;
    let mut words = line.split(' ');
    if words.next()? != "CONNECT" {
        return None;
    }
    let target = words.next()?;
    let is_http = words.next()?.starts_with("HTTP/1.");
    let (host, port) = target.rsplit_once(':')?;
    let is_whole = words.next().is_none() && port.parse::<u16>().is_ok() && !host.is_empty();
    (is_http && is_whole).then_some(host)
}

/// Whether a host is one of those named; `.example.org` names those below it, and itself.
fn is_allowed(host: &str, hosts: &[String]) -> bool {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    hosts.iter().any(|named| {
        let named = named.trim().to_ascii_lowercase();
        let named = named.strip_prefix('*').unwrap_or(&named);
        match named.strip_prefix('.') {
            Some(parent) => host == parent || host.ends_with(named),
            None => host == named,
        }
    })
}

fn refuse(mut client: &TcpStream, status: &str, text: &str) -> io::Result<()> {
    let length = text.len();
    write!(
        client,
        "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{text}"
    )?;
    client.shutdown(Shutdown::Write)
}

/// Opens the socket of a proxy for `connect` alone.
pub(super) fn open(path: &std::path::Path) -> io::Result<OwnedFd> {
    let opened = crate::platform::mount::open_path(path)?;
    let kind = File::from(opened.try_clone()?).metadata()?.file_type();
    if !std::os::unix::fs::FileTypeExt::is_socket(&kind) {
        return Err(io::Error::from_raw_os_error(libc::ENOTSOCK));
    }
    Ok(opened)
}

#[cfg(test)]
mod tests;
