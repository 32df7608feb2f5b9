//! A model is asked over TLS where the system trusts its certificate, and nowhere else.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::{env, thread};

use outlast_agent::models::{Model, Provider, Secret};
use outlast_journal::error::Advice;
use outlast_testkit::model::Script;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::talk::{KEY, Talk, impatient};

type Tls = StreamOwned<ServerConnection, TcpStream>;

/// Who signed the certificate of `serve`. No system trusts it unasked.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/data/root.pem");

/// Serves TLS on loopback, and passes each request on to `to`.
fn serve(to: String) -> SocketAddr {
    let certificate = CertificateDer::from(include_bytes!("data/certificate.der").to_vec());
    let key = PrivatePkcs8KeyDer::from(include_bytes!("data/key.der").to_vec());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions of TLS")
        .with_no_client_auth()
        .with_single_cert(vec![certificate], PrivateKeyDer::Pkcs8(key))
        .expect("a certificate and its key");
    let config = Arc::new(config);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || {
        for connection in listener.incoming().map_while(Result::ok) {
            let session = ServerConnection::new(Arc::clone(&config)).expect("a session");
            // A client that does not trust the certificate breaks off.
            pass_on(&mut StreamOwned::new(session, connection), &to).ok();
        }
    });
    address
}

/// Passes one request on, and its answer back.
fn pass_on(client: &mut Tls, to: &str) -> io::Result<()> {
    let mut request = Vec::new();
    let mut length = 0;
    let mut reader = BufReader::new(&mut *client);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        request.extend_from_slice(line.as_bytes());
        let (name, value) = line.split_once(':').unwrap_or_default();
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().unwrap_or_default();
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let head = request.len();
    request.resize(head + length, 0);
    reader.read_exact(&mut request[head..])?;
    let mut server = TcpStream::connect(to)?;
    server.write_all(&request)?;
    server.shutdown(Shutdown::Write)?;
    io::copy(&mut server, client)?;
    client.conn.send_close_notify();
    client.flush()
}

/// A talk over TLS.
fn secure_talk() -> Talk {
    let mut talk = Talk::new(Provider::Compatible);
    let address = serve(talk.server.url().replace("http://", ""));
    let mut choice = talk.model.choice().clone();
    choice.base_url = Some(format!("https://{address}/v1/"));
    let model = Model::new(&choice, Some(Secret::new(KEY))).expect("a client");
    talk.model = model.with_patience(impatient());
    talk
}

#[tokio::test]
async fn a_certificate_that_nobody_signed_is_told_at_once() {
    let mut talk = secure_talk();
    let error = talk.ask().await.expect_err("it is not trusted");
    assert_eq!(error.code(), "not_a_model", "{error}");
    assert!(error.to_string().contains("certificate"), "{error}");
    assert_eq!(talk.retries, []);
    assert_eq!(talk.server.asked().len(), 0);
}

#[test]
fn a_model_is_asked_over_tls_where_the_system_trusts_it() {
    // What the system trusts is read from the environment, which is that of a whole process.
    let this = env::current_exe().expect("this program");
    let asked = Command::new(this)
        .args(["--exact", "--ignored", "secure::over_trusted_tls"])
        .env("SSL_CERT_FILE", ROOT)
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&asked.stdout);
    assert!(asked.status.success(), "{said}");
    assert!(said.contains("1 passed"), "{said}");
}

#[tokio::test]
#[ignore = "part of `a_model_is_asked_over_tls_where_the_system_trusts_it`"]
async fn over_trusted_tls() {
    let mut talk = secure_talk();
    talk.server.play(Script::new().text("in private"));
    assert_eq!(talk.ask().await.expect("a turn").text, "in private");
    let asked = &talk.server.turns()[0];
    assert_eq!(asked.headers["authorization"], format!("Bearer {KEY}"));
    talk.server.assert_played();
}

#[tokio::test]
async fn a_server_without_tls_where_tls_is_asked_for_cannot_be_reached() {
    let mut talk = Talk::new(Provider::Compatible);
    let mut choice = talk.model.choice().clone();
    choice.base_url = choice.base_url.map(|url| url.replace("http:", "https:"));
    let model = Model::new(&choice, None).expect("a client");
    talk.model = model.with_patience(impatient());
    let error = talk.ask().await.expect_err("no TLS");
    assert_eq!(error.code(), "model_unreachable", "{error}");
}
