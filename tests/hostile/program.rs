//! The program as a process: what it printed, how it ended, and the most memory that it had.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

/// A run that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(120);

/// Rules that the quick runs ask for: of calls, of artifacts, of tasks and of cards.
pub const QUICK: [&str; 3] = ["--rule", "unknown_skill,mode_mismatch,skills_changed_same_version", "--format=json"];

/// Writes what a run reads from standard input.
pub type Feed = Box<dyn FnOnce(&mut ChildStdin) -> std::io::Result<()> + Send>;

/// A run that has ended.
#[derive(Debug)]
pub struct Run {
    pub code: i32,
    pub stdout: Vec<u8>,
    pub stderr: String,
    /// The most memory that it had resident, in bytes; 0 where the system does not tell.
    pub peak: u64,
}

/// An `analyze` to be.
pub struct Analyze {
    command: Command,
    feed: Option<Feed>,
}

/// An `analyze` with nothing of the surrounding environment.
pub fn analyze() -> Analyze {
    let mut command = Command::new(env!("CARGO_BIN_EXE_a2a-drift"));
    command.env_clear().env("TZ", "UTC").arg("analyze");
    Analyze { command, feed: None }
}

impl Analyze {
    pub fn arg(mut self, argument: impl Into<OsString>) -> Self {
        self.command.arg(argument.into());
        self
    }

    pub fn args<A: Into<OsString>>(self, arguments: impl IntoIterator<Item = A>) -> Self {
        arguments.into_iter().fold(self, Self::arg)
    }

    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    pub fn feed(mut self, feed: impl FnOnce(&mut ChildStdin) -> std::io::Result<()> + Send + 'static) -> Self {
        self.feed = Some(Box::new(feed));
        self.arg("-")
    }

    /// Runs it to its end.
    pub fn run(mut self) -> Run {
        let stdin = if self.feed.is_some() { Stdio::piped() } else { Stdio::null() };
        let mut child = self.command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let feeder = self.feed.zip(child.stdin.take()).map(|(feed, mut stdin)| thread::spawn(move || feed(&mut stdin)));
        let stdout = drain(child.stdout.take().unwrap());
        let stderr = drain(child.stderr.take().unwrap());
        let (code, peak) = watch(&mut child);
        if let Some(feeder) = feeder {
            feeder.join().unwrap().unwrap();
        }
        let stderr = String::from_utf8_lossy(&stderr.join().unwrap()).into_owned();
        let run = Run { code, stdout: stdout.join().unwrap(), stderr, peak };
        assert!((0..=2).contains(&run.code) && !run.stderr.contains("panicked"), "exit {code}\n{}", run.stderr);
        run
    }
}

fn drain(mut stream: impl Read + Send + 'static) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        bytes
    })
}

/// Waits for the end, looking at the high-water mark of memory, which only grows.
fn watch(child: &mut Child) -> (i32, u64) {
    let status = format!("/proc/{}/status", child.id());
    let started = Instant::now();
    let mut peak = 0;
    loop {
        peak = high_water(Path::new(&status)).unwrap_or_default().max(peak);
        if let Some(status) = child.try_wait().unwrap() {
            return (status.code().unwrap_or(-1), peak);
        }
        if started.elapsed() > PATIENCE {
            child.kill().unwrap();
            panic!("did not end in {PATIENCE:?}");
        }
        thread::sleep(Duration::from_millis(3));
    }
}

fn high_water(status: &Path) -> Option<u64> {
    let text = std::fs::read_to_string(status).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib << 10)
}

impl Run {
    /// The report of a run with `--format=json`.
    pub fn report(&self) -> Value {
        serde_json::from_slice(&self.stdout).unwrap_or_else(|e| panic!("{e}: exit {}\n{}", self.code, self.stderr))
    }

    /// All that the findings say, but for the places of their evidence.
    pub fn findings(&self) -> BTreeSet<String> {
        let mut report = self.report();
        for finding in report["findings"].as_array_mut().unwrap() {
            for evidence in finding["evidence"].as_array_mut().unwrap() {
                for place in ["source", "position"] {
                    evidence.as_object_mut().unwrap().remove(place);
                }
            }
        }
        report["findings"].as_array().unwrap().iter().map(Value::to_string).collect()
    }

    /// Rejects: reason, count, and where the first is.
    pub fn rejects(&self) -> Vec<(String, u64, String)> {
        let report = self.report();
        let one = |reject: &Value| {
            let (reason, first) = (reject["reason"].as_str().unwrap(), &reject["first"]);
            let place = |member: &str| first[member].as_str().unwrap().to_owned();
            let name = place("source").rsplit('/').next().unwrap().to_owned();
            assert!(!place("source").is_empty() && !place("position").is_empty(), "{reject}");
            (reason.to_owned(), reject["count"].as_u64().unwrap(), format!("{name}:{}", place("position")))
        };
        report["rejects"].as_array().unwrap().iter().map(one).collect()
    }

    /// Asserts what was rejected: reason, count, and where the first is.
    pub fn assert_rejects(&self, expected: &[(&str, u64, &str)]) {
        let rejects = self.rejects();
        let rejects: Vec<_> =
            rejects.iter().map(|(reason, count, at)| (reason.as_str(), *count, at.as_str())).collect();
        assert_eq!(rejects, expected);
    }
}

/// A folder with these files.
pub fn folder<B: AsRef<[u8]>>(files: &[(&str, B)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        let mut file = std::fs::File::create(folder.path().join(name)).unwrap();
        file.write_all(bytes.as_ref()).unwrap();
    }
    folder
}

/// Analyses these files with the quick rules.
pub fn quick<B: AsRef<[u8]>>(files: &[(&str, B)]) -> Run {
    let folder = folder(files);
    analyze().args(QUICK).arg(folder.path()).run()
}
