//! Who is let in: TLS, client certificates, the token, web pages.

use std::path::Path;
use std::sync::Arc;

use a2a_drift::receive::listen::{Answer, Listen, ListenSettings, Reason, Receiver, Signal};
use a2a_drift::tls::{TlsError, TlsSettings};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tonic::{Code, Request};

use super::call::{Answered, JSON, PROTOBUF, TRACES, exchange, grpc, post, request, send};
use super::host::{Host, answering, eventually, settings};

fn fine() -> Answer {
    Answer::Accepted { accepted: 1, rejected: 0, message: String::new() }
}

async fn host(settings: ListenSettings) -> Host {
    Host::start(settings, answering(fine())).await
}

/// An authority, and certificates of a server and a client that it signed, in files.
struct Certificates {
    folder: tempfile::TempDir,
}

impl Certificates {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        write("authority.pem", &params.self_signed(&key).unwrap().pem());
        let issuer = Issuer::new(params, key);
        for (name, host) in [("server", "localhost"), ("client", "collector")] {
            let key = KeyPair::generate().unwrap();
            let signed = CertificateParams::new(vec![host.to_owned()]).unwrap().signed_by(&key, &issuer).unwrap();
            write(&format!("{name}.pem"), &signed.pem());
            write(&format!("{name}.key"), &key.serialize_pem());
        }
        Self { folder }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    fn settings(&self, are_clients_asked: bool) -> ListenSettings {
        let tls = TlsSettings {
            certificate: self.path("server.pem"),
            key: self.path("server.key"),
            client_authorities: are_clients_asked.then(|| self.path("authority.pem")),
        };
        ListenSettings { tls: Some(tls), ..settings() }
    }

    /// A TLS connection that offers `protocol`, with the client's certificate if it is asked for one.
    async fn connect(&self, host: &Host, protocol: &[u8], has_certificate: bool) -> TlsStream<TcpStream> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(self.path("authority.pem")).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots);
        let mut config = if has_certificate {
            let chain = vec![CertificateDer::from_pem_file(self.path("client.pem")).unwrap()];
            let key = PrivateKeyDer::from_pem_file(self.path("client.key")).unwrap();
            builder.with_client_auth_cert(chain, key).unwrap()
        } else {
            builder.with_no_client_auth()
        };
        config.alpn_protocols = vec![protocol.to_vec()];
        let stream = TcpStream::connect(host.address).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap()
    }
}

#[tokio::test]
async fn tls_serves_http_1_and_offers_http_2() {
    let certificates = Certificates::new();
    let host = host(certificates.settings(false)).await;
    let mut stream = certificates.connect(&host, b"http/1.1", false).await;
    assert_eq!(exchange(&mut stream, &post("/v1/traces", &[JSON], b"{}")).await.status, 200);
    let stream = certificates.connect(&host, b"h2", false).await;
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
}

#[tokio::test]
async fn plain_text_at_a_tls_port_is_no_request() {
    let certificates = Certificates::new();
    let host = host(certificates.settings(false)).await;
    let mut stream = TcpStream::connect(host.address).await.unwrap();
    stream.write_all(&post("/v1/traces", &[JSON], b"{}")).await.unwrap();
    eventually("counted", || host.counters.failed_handshakes.get() == 1).await;
    assert!(host.seen.lock().unwrap().is_empty());
}

#[tokio::test]
async fn with_client_authorities_only_their_clients_get_through() {
    let certificates = Certificates::new();
    let host = host(certificates.settings(true)).await;
    let mut known = certificates.connect(&host, b"http/1.1", true).await;
    assert_eq!(exchange(&mut known, &post("/v1/traces", &[JSON], b"{}")).await.status, 200);
    // TLS 1.3 refuses after the client's side of the handshake is over.
    let mut unknown = certificates.connect(&host, b"http/1.1", false).await;
    let _ = unknown.write_all(&post("/v1/traces", &[JSON], b"{}")).await;
    eventually("refused", || host.counters.failed_handshakes.get() == 1).await;
    assert_eq!(host.seen.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn files_that_are_no_certificates_are_named() {
    let certificates = Certificates::new();
    let error = |settings: &dyn Fn(&mut TlsSettings)| {
        let mut tls = certificates.settings(false).tls.unwrap();
        settings(&mut tls);
        let listen = Listen::new(ListenSettings { tls: Some(tls), ..super::host::settings() }, mpsc::channel(1).0);
        listen.err().unwrap()
    };
    let name = |path: &Path| path.display().to_string();
    let missing = error(&|tls| tls.certificate = "/no/such.pem".into());
    assert!(missing.to_string().starts_with("/no/such.pem: "), "{missing}");
    let swapped = error(&|tls| tls.certificate = certificates.path("server.key"));
    assert!(matches!(&swapped, TlsError::NoCertificate { path } if *path == name(&certificates.path("server.key"))));
    let foreign = error(&|tls| tls.key = certificates.path("client.key"));
    assert!(matches!(foreign, TlsError::Unusable { .. }), "{foreign:?}");
    let no_key = error(&|tls| tls.key = certificates.path("server.pem"));
    assert!(no_key.to_string().contains("private key"), "{no_key}");
}

#[tokio::test]
async fn with_a_token_nothing_is_taken_without_it() {
    let host = host(ListenSettings { bearer_token: Some("s3cret".to_owned()), ..settings() }).await;
    for path in ["/v1/traces", "/v1/logs", "/v1/metrics", "/v1/a2a/exchanges", "/v1/nothing"] {
        for wrong in ["Bearer s3cre", "Bearer s3cret2", "Basic s3cret", ""] {
            let headers = [JSON, ("Authorization", wrong)];
            let answered = send(host.address, &post(path, &headers, b"{}")).await;
            assert_eq!((answered.status, answered.header("www-authenticate")), (401, Some("Bearer")), "{path} {wrong}");
            assert_eq!(answered.json()["code"], 16);
            assert!(!String::from_utf8_lossy(&answered.body).contains("s3c"));
        }
    }
    let headers = [PROTOBUF, ("Authorization", "Bearer s3cret")];
    assert_eq!(send(host.address, &post("/v1/traces", &headers, b"")).await.status, 200);
    assert_eq!(host.refused(Receiver::OtlpHttp, Signal::Traces, Reason::Unauthenticated), 4);

    let status = grpc(host.address, TRACES, None, Request::new(Vec::new())).await.unwrap_err();
    assert_eq!(status.code(), Code::Unauthenticated);
    let mut request = Request::new(Vec::new());
    request.metadata_mut().insert("authorization", "Bearer s3cret".parse().unwrap());
    grpc(host.address, TRACES, None, request).await.unwrap();
}

#[tokio::test]
async fn settings_do_not_show_their_token() {
    let settings = ListenSettings { bearer_token: Some("s3cret".to_owned()), ..settings() };
    assert!(!format!("{settings:?}").contains("s3cret"));
}

const PAGE: (&str, &str) = ("Origin", "https://shop.example");

fn allowed(answered: &Answered) -> Option<&str> {
    answered.header("access-control-allow-origin")
}

#[tokio::test]
async fn cors_is_off_and_requests_of_pages_are_refused_even_those_that_need_not_ask() {
    let host = host(settings()).await;
    let question =
        [PAGE, ("Access-Control-Request-Method", "POST"), ("Access-Control-Request-Headers", "content-type")];
    let answered = send(host.address, &request("OPTIONS", "/v1/traces", &question, b"")).await;
    assert_eq!((answered.status, allowed(&answered)), (403, None));
    // Browsers send text to any site without asking it.
    let simple = [PAGE, ("Content-Type", "text/plain")];
    let answered = send(host.address, &post("/v1/a2a/exchanges", &simple, b"{}")).await;
    assert_eq!((answered.status, allowed(&answered)), (403, None));
    assert!(host.seen.lock().unwrap().is_empty());
    let answered = send(host.address, &post("/v1/traces", &[JSON], b"{}")).await;
    assert_eq!((answered.status, allowed(&answered)), (200, None));
}

#[tokio::test]
async fn an_allowed_page_may_ask_and_send_and_others_may_not() {
    let allowed_origins = vec!["https://shop.example".to_owned()];
    let token = Some("s3cret".to_owned());
    let host = host(ListenSettings { allowed_origins, bearer_token: token, ..settings() }).await;
    let question =
        [PAGE, ("Access-Control-Request-Method", "POST"), ("Access-Control-Request-Headers", "content-type")];
    let answered = send(host.address, &request("OPTIONS", "/v1/traces", &question, b"")).await;
    assert_eq!((answered.status, allowed(&answered)), (204, Some("https://shop.example")));
    assert_eq!(answered.header("access-control-allow-methods"), Some("POST"));
    assert_eq!(answered.header("access-control-allow-headers"), Some("content-type"));
    let headers = [PAGE, JSON, ("Authorization", "Bearer s3cret")];
    let answered = send(host.address, &post("/v1/traces", &headers, b"{}")).await;
    assert_eq!((answered.status, allowed(&answered)), (200, Some("https://shop.example")));
    let answered = send(host.address, &post("/v1/traces", &[PAGE, JSON], b"{}")).await;
    assert_eq!((answered.status, allowed(&answered)), (401, Some("https://shop.example")), "the page sees why");
    for other in ["https://shop.example.evil.example", "http://shop.example", "null"] {
        let headers = [("Origin", other), JSON, ("Authorization", "Bearer s3cret")];
        let answered = send(host.address, &post("/v1/traces", &headers, b"{}")).await;
        assert_eq!((answered.status, allowed(&answered)), (403, None), "{other}");
    }
}
