//! Tokens, TLS, and what cannot be used at the start.

use rcgen::{CertificateParams, KeyPair};
use reqwest::StatusCode;
use std::fs;

use super::host::{Folder, answer, ended, eventually};

#[tokio::test(flavor = "multi_thread")]
async fn a_token_guards_everything_but_health_and_tls_the_receivers() {
    let folder = Folder::new("token_file = \"token\"\n[serve.tls]\ncertificate = \"cert.pem\"\nkey = \"key.pem\"\n");
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec!["localhost".to_owned()]).unwrap().self_signed(&key).unwrap();
    fs::write(folder.path("token"), "s3cret-of-the-test\n").unwrap();
    fs::write(folder.path("cert.pem"), certificate.pem()).unwrap();
    fs::write(folder.path("key.pem"), key.serialize_pem()).unwrap();
    let service = folder.start().await;
    let authority = reqwest::Certificate::from_pem(certificate.pem().as_bytes()).unwrap();
    let client = reqwest::Client::builder().no_proxy().tls_certs_only([authority]).build().unwrap();

    for path in ["/metrics", "/api/v1/findings", "/api/v1/agents"] {
        assert_eq!(service.get(path).await.status, StatusCode::UNAUTHORIZED, "{path}");
        let url = format!("http://{}{path}", service.admin);
        assert_eq!(answer(service.client.get(url).bearer_auth("s3cret-of-the-test")).await.status, StatusCode::OK);
    }
    assert_eq!(service.get("/healthz").await.status, StatusCode::OK);
    let port = service.http.rsplit_once(':').unwrap().1;
    let send = || {
        let post = client.post(format!("https://localhost:{port}/v1/traces"));
        post.header("content-type", "application/json").body("{\"resourceSpans\":[]}")
    };
    assert_eq!(answer(send()).await.status, StatusCode::UNAUTHORIZED);
    assert_eq!(answer(send().bearer_auth("another")).await.status, StatusCode::UNAUTHORIZED);
    assert_eq!(answer(send().bearer_auth("s3cret-of-the-test")).await.status, StatusCode::OK);
    let plain = answer(service.client.post(format!("http://{}/v1/traces", service.http)).body("{}")).await;
    assert_ne!(plain.status, StatusCode::OK);
    assert!(!service.said().join("\n").contains("s3cret-of-the-test"));
}

/// A certificate for this machine, written where the settings say; as its clients need it.
fn certify(folder: &Folder) -> reqwest::Client {
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec!["localhost".to_owned()]).unwrap().self_signed(&key).unwrap();
    fs::write(folder.path("cert.pem"), certificate.pem()).unwrap();
    fs::write(folder.path("key.pem"), key.serialize_pem()).unwrap();
    let authority = reqwest::Certificate::from_pem(certificate.pem().as_bytes()).unwrap();
    reqwest::Client::builder().no_proxy().tls_certs_only([authority]).build().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn certificates_are_read_again_on_reload_and_the_admin_port_may_have_them_too() {
    _ = rustls::crypto::ring::default_provider().install_default();
    let folder = Folder::new("[serve.tls]\ncertificate = \"cert.pem\"\nkey = \"key.pem\"\nadmin = true\n");
    let before = certify(&folder);
    let service = super::host::Serving::start_anyhow(&mut folder.program()).await;
    let port = |address: &str| address.rsplit_once(':').unwrap().1.to_owned();
    let (http, admin) = (port(&service.http), port(&service.admin));
    let status = async |client: &reqwest::Client, port: &str, path: &str| {
        answer(client.get(format!("https://localhost:{port}{path}"))).await.status
    };
    eventually("ready", async || (status(&before, &admin, "/readyz").await == StatusCode::OK).then_some(())).await;
    assert_ne!(service.get("/healthz").await.status, StatusCode::OK, "not in the clear");
    assert_eq!(status(&before, &http, "/v1/traces").await, StatusCode::METHOD_NOT_ALLOWED);

    let after = certify(&folder);
    assert_ne!(status(&after, &admin, "/healthz").await, StatusCode::OK, "not read yet");
    let reload = |client: &reqwest::Client| answer(client.post(format!("https://localhost:{admin}/-/reload")));
    assert_eq!(reload(&before).await.status, StatusCode::OK);
    assert_eq!(status(&after, &admin, "/metrics").await, StatusCode::OK);
    assert_eq!(status(&after, &http, "/v1/traces").await, StatusCode::METHOD_NOT_ALLOWED);

    fs::write(folder.path("key.pem"), "no key").unwrap();
    let refused = reload(&after).await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(refused.text.contains("key.pem"), "{refused:?}");
    assert_eq!(status(&after, &admin, "/metrics").await, StatusCode::OK);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_used_is_told_at_the_start() {
    let folder = Folder::new("");
    let service = folder.start().await;
    // The same folder, other ports.
    let (code, said) = ended(&mut folder.program());
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("another process has this store open"), "{said}");
    // Another folder, the same port.
    let other = Folder::new("");
    let (code, said) = ended(other.program().args(["--admin", &service.admin]));
    assert_eq!(code, 2, "{said}");
    assert!(said.contains(&format!("cannot listen at {} for metrics", service.admin)), "{said}");
    assert!(said.contains("in use"), "{said}");
    // A folder that cannot be: below a file.
    let (code, said) = ended(other.program().arg("--data").arg(other.path("serve.toml/data")));
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("cannot use") && said.contains("Not a directory"), "{said}");
    assert_eq!(service.get("/readyz").await.status, StatusCode::OK);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_counted_by_known_labels_is_there_before_anything_was_counted() {
    let service = Folder::new("").start().await;
    let zeros = [
        "a2a_drift_findings_total{rule=\"split_brain\",category=\"lifecycle\",severity=\"critical\"} 0",
        "a2a_drift_received_total{receiver=\"otlp-grpc\",signal=\"traces\"} 0",
        "a2a_drift_received_total{receiver=\"follow\",signal=\"lines\"} 0",
        "a2a_drift_ignored_total{signal=\"logs\"} 0",
        "a2a_drift_rejected_total{reason=\"bad-json\"} 0",
        "a2a_drift_refused_total{reason=\"queue-full\",receiver=\"otlp-http\"} 0",
        "a2a_drift_denied_total{reason=\"unauthenticated\",receiver=\"exchanges\"} 0",
        "a2a_drift_denied_total{reason=\"not-found\",receiver=\"none\"} 0",
        "a2a_drift_connections_lost_total{reason=\"handshake\"} 0",
        "a2a_drift_evaluation_failures_total{rule=\"orphaned\"} 0",
        "a2a_drift_config_reloads_total{outcome=\"failure\"} 0",
    ];
    eventually("all at zero", async || {
        let text = service.get("/metrics").await.text;
        zeros.iter().all(|zero| text.lines().any(|line| line == *zero)).then_some(())
    })
    .await;
}

#[test]
fn a_check_says_what_is_wrong_without_starting_anything() {
    let folder = Folder::new("");
    let (code, said) = ended(folder.program().arg("--check"));
    assert_eq!((code, said.trim()), (0, "configuration and rules are good"));
    assert!(!folder.path("data").exists());
    for (settings, expected) in [
        ("token_file = \"none\"\n", "none: No such file"),
        ("[serve.tls]\ncertificate = \"serve.toml\"\nkey = \"serve.toml\"\n", "serve.toml"),
        ("settle = \"soon\"\n", "no duration like 15m"),
        ("[serve.alertmanager]\nurls = [\"nowhere\"]\n", "nowhere"),
    ] {
        folder.configure(settings);
        let (code, said) = ended(folder.program().arg("--check"));
        assert_eq!(code, 2, "{settings}: {said}");
        assert!(said.contains(expected), "{settings}: {said}");
    }
    fs::create_dir_all(folder.path("queries/rules/card")).unwrap();
    fs::write(folder.path("queries/rules/card/broken.sql"), "SELECT").unwrap();
    folder.configure("");
    let (code, said) = ended(folder.program().arg("--check").arg("--queries").arg(folder.path("queries")));
    assert_ne!(code, 0, "{said}");
    assert!(said.contains("broken.sql"), "{said}");
}
