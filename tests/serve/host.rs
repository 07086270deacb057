//! A service that runs: the built program on ports of its own, over a folder of its own.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant as Clock};

use a2a_drift::instant::Instant;
use reqwest::{Client, StatusCode};
use serde_json::Value;

/// How long anything is waited for: two cores, debug builds and other tests beside this one.
const PATIENCE: Duration = Duration::from_secs(120);

/// Facts of any age stay in memory.
pub(crate) const FOR_EVER: &str =
    "[serve.retention]\nmemory = \"100years\"\ncards = \"100years\"\ndisk = \"100years\"\n";

/// What services of one test leave behind.
pub(crate) struct Folder {
    dir: tempfile::TempDir,
}

/// A running service; it is killed when it is dropped.
pub(crate) struct Serving {
    child: Child,
    pub(crate) http: String,
    pub(crate) admin: String,
    pub(crate) client: Client,
    said: Arc<Mutex<Vec<String>>>,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) retry_after: Option<u64>,
    pub(crate) text: String,
}

/// Findings by id, each as what tells it from others.
pub(crate) type Findings = BTreeMap<String, String>;

impl Folder {
    /// A folder with a configuration; paths in it are relative to the folder.
    pub(crate) fn new(settings: &str) -> Self {
        let folder = Self { dir: tempfile::tempdir().unwrap() };
        folder.configure(settings);
        folder
    }

    /// Writes the configuration anew.
    pub(crate) fn configure(&self, settings: &str) {
        let ports = "[serve]\notlp_grpc = \"off\"\notlp_http = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"\ntick = \"100ms\"\ndata = \"data\"\n";
        std::fs::write(self.path("serve.toml"), format!("{ports}{settings}")).unwrap();
    }

    /// A path in it.
    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The program with this configuration.
    pub(crate) fn program(&self) -> Command {
        let mut program = clean(Command::new(env!("CARGO_BIN_EXE_a2a-drift")));
        program.arg("serve").arg("--config").arg(self.path("serve.toml"));
        program
    }

    /// The same, run by a shell that has done something before.
    pub(crate) fn after(&self, shell: &str) -> Command {
        let mut program = clean(Command::new("sh"));
        let program_path = env!("CARGO_BIN_EXE_a2a-drift");
        let config = self.path("serve.toml");
        program.arg("-c").arg(format!("{shell}; exec '{program_path}' serve --config '{}'", config.display()));
        program
    }

    pub(crate) async fn start(&self) -> Serving {
        Serving::start(&mut self.program()).await
    }
}

/// Nothing of the surrounding environment changes what the program does.
fn clean(mut program: Command) -> Command {
    for (name, _) in std::env::vars() {
        if name.starts_with("A2A_DRIFT_") || name.starts_with("OTEL_") || name == "RUST_LOG" {
            program.env_remove(name);
        }
    }
    program
}

impl Serving {
    /// Starts a program and waits until it is ready.
    pub(crate) async fn start(program: &mut Command) -> Self {
        let mut serving = Self::start_anyhow(program).await;
        let ready = eventually("ready", async || {
            assert!(serving.child.try_wait().unwrap().is_none(), "{:?}", serving.said());
            (serving.get("/readyz").await.status == StatusCode::OK).then_some(())
        });
        ready.await;
        serving
    }

    /// Starts a program and waits until it says where it listens.
    pub(crate) async fn start_anyhow(program: &mut Command) -> Self {
        _ = rustls::crypto::ring::default_provider().install_default();
        let mut child = program.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let (said, lines) = (Arc::new(Mutex::new(Vec::new())), BufReader::new(child.stderr.take().unwrap()));
        let noted = Arc::clone(&said);
        std::thread::spawn(move || {
            lines.lines().map_while(Result::ok).for_each(|line| noted.lock().unwrap().push(line));
        });
        let client = Client::builder().no_proxy().build().unwrap();
        let mut serving = Self { child, http: String::new(), admin: String::new(), client, said };
        eventually("listening", async || {
            let said = serving.said();
            let at = |what: &str| said.iter().find_map(|line| line.split_once(what).map(|(_, at)| at.to_owned()));
            let ended = serving.child.try_wait().unwrap();
            assert!(ended.is_none(), "{ended:?} {said:?}");
            (serving.http, serving.admin) =
                (at("OTLP over HTTP at ").unwrap_or_default(), at("metrics, findings and health at ")?);
            Some(())
        })
        .await;
        serving
    }

    pub(crate) fn said(&self) -> Vec<String> {
        self.said.lock().unwrap().clone()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        answer(self.client.get(format!("http://{}{path}", self.admin))).await
    }

    pub(crate) async fn post(&self, path: &str, content_type: &str, body: Vec<u8>) -> Answer {
        let request = self.client.post(format!("http://{}{path}", self.http));
        answer(request.header("content-type", content_type).body(body)).await
    }

    /// Sends lines of exchanges, `together` in a request.
    pub(crate) async fn send_exchanges(&self, lines: &[String], together: usize) {
        for lines in lines.chunks(together) {
            let answer = self.post("/v1/a2a/exchanges", "application/x-ndjson", lines.join("\n").into_bytes()).await;
            assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
        }
    }

    /// The sum of the series of a metric whose labels have this in them.
    pub(crate) async fn metric(&self, name: &str, labels: &str) -> f64 {
        let text = self.get("/metrics").await.text;
        let series = text.lines().filter(|line| {
            line.strip_prefix(name).is_some_and(|rest| rest.starts_with(['{', ' '])) && line.contains(labels)
        });
        series.filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok()).sum()
    }

    /// The findings that fire, and the instant of the look.
    pub(crate) async fn findings(&self) -> (Instant, Findings) {
        let answer = self.get("/api/v1/findings?limit=1000").await;
        let page: Value = serde_json::from_str(&answer.text).unwrap();
        assert_eq!(page["next"], Value::Null);
        let as_of = Instant::parse_rfc3339(page["as_of"].as_str().unwrap_or_default()).unwrap_or_default();
        let line = |finding: &Value| {
            let text = |name: &str| finding[name].as_str().unwrap_or_default().to_owned();
            (text("id"), ["rule", "severity", "confidence", "suspect", "agent", "task_id"].map(text).join(" "))
        };
        (as_of, page["findings"].as_array().unwrap().iter().map(line).collect())
    }

    /// Asks it to end; how it ended, and how long that took.
    pub(crate) async fn terminate(mut self) -> (ExitStatus, Duration) {
        let began = Clock::now();
        self.signal("TERM");
        let status = eventually("ended", async || self.child.try_wait().unwrap()).await;
        (status, began.elapsed())
    }

    /// Ends it as a lost machine does.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([&format!("-{signal}"), &*pid]).status().unwrap().success());
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("the service said:\n{}", self.said().join("\n"));
        }
    }
}

/// What came of a request; status 0 where nothing did.
pub(crate) async fn answer(request: reqwest::RequestBuilder) -> Answer {
    match request.timeout(PATIENCE).send().await {
        Ok(response) => {
            let header = response.headers().get("retry-after");
            let retry_after = header.and_then(|value| value.to_str().ok()?.parse().ok());
            Answer { status: response.status(), retry_after, text: response.text().await.unwrap_or_default() }
        }
        // The service is not there: as a proxy would say.
        Err(error) => Answer { status: StatusCode::BAD_GATEWAY, retry_after: None, text: format!("{error:?}") },
    }
}

/// Waits until something is so.
pub(crate) async fn eventually<T>(what: &str, mut is_so: impl AsyncFnMut() -> Option<T>) -> T {
    let began = Clock::now();
    loop {
        if let Some(told) = is_so().await {
            return told;
        }
        assert!(began.elapsed() < PATIENCE, "not {what} after {PATIENCE:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Runs a program that is to end by itself: its exit code and what it said.
pub(crate) fn ended(program: &mut Command) -> (i32, String) {
    let mut child = program.stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    let output = child.wait_with_output().unwrap();
    (output.status.code().unwrap_or(-1), said + &String::from_utf8_lossy(&output.stdout))
}
