//! Files that are followed: as they grow, through rotation and truncation, over restarts.

use std::fs;
use std::io::Write;
use std::time::Duration;

use super::batch::{Batch, files, lines};
use super::host::{FOR_EVER, Folder, eventually};

#[tokio::test(flavor = "multi_thread")]
async fn followed_files_are_read_once_through_rotation_truncation_and_restarts() {
    let folder = Folder::new(&format!("follow = [\"logs\"]\n{FOR_EVER}"));
    fs::create_dir(folder.path("logs")).unwrap();
    let log = folder.path("logs/proxy.ndjson");
    let add = |lines: &[String]| {
        let mut file = fs::OpenOptions::new().create(true).append(true).open(&log).unwrap();
        lines.iter().for_each(|line| writeln!(file, "{line}").unwrap());
    };
    let all = lines("a2a-python-1.3.0/jsonrpc.exchanges.ndjson");
    let step = all.len() / 6;
    let until = |n: usize| files(&[("proxy.ndjson", &all[..n * step])]);

    // There before the start, and the last line not whole.
    add(&all[..step]);
    let service = folder.start().await;
    Batch::of(&until(1)).await.is_said_by(&service).await;
    add(&all[step..2 * step]);
    Batch::of(&until(2)).await.is_said_by(&service).await;
    // Renamed, as logrotate does.
    fs::rename(&log, folder.path("logs/proxy.ndjson.1")).unwrap();
    add(&all[2 * step..3 * step]);
    Batch::of(&until(3)).await.is_said_by(&service).await;
    service.kill();
    add(&all[3 * step..4 * step]);
    let service = folder.start().await;
    Batch::of(&until(4)).await.is_said_by(&service).await;
    // Copied and truncated, as logrotate also does.
    fs::write(&log, "").unwrap();
    add(&all[4 * step..5 * step]);
    Batch::of(&until(5)).await.is_said_by(&service).await;
    assert!(service.terminate().await.0.success());
    fs::write(&log, format!("{}\n", all[5 * step..].join("\n"))).unwrap();
    let service = folder.start().await;
    let batch = Batch::of(&files(&[("proxy.ndjson", &all)])).await;
    let found = batch.is_said_by(&service).await;
    println!("{found} findings, {} facts", batch.facts);
    // Read once: nothing was known already.
    assert_eq!(service.metric("a2a_drift_received_total", "").await as usize, all.len() - 5 * step);
}

/// A line as a container runtime writes it that keeps no more than 16 KiB together, and two programs that write at once.
fn carried(line: &str) -> [String; 3] {
    const AT: &str = "2026-11-30T06:15:34Z";
    let half = (0..=line.len() / 2).rev().find(|at| line.is_char_boundary(*at)).unwrap();
    let (first, last) = line.split_at(half);
    [
        format!("{AT} stdout P {first}\n"),
        format!("{AT} stderr F INFO:root:something else\n"),
        format!("{AT} stdout F {last}\n"),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_in_pieces_that_come_one_after_the_other_say_what_whole_ones_say() {
    let folder = Folder::new(&format!("follow = [\"logs\"]\n{FOR_EVER}"));
    fs::create_dir(folder.path("logs")).unwrap();
    let log = folder.path("logs/pod.log");
    let add = |text: &str| {
        let mut file = fs::OpenOptions::new().create(true).append(true).open(&log).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    };
    let all = lines("a2a-python-1.3.0/jsonrpc.exchanges.ndjson");
    let step = all.len() / 6;
    // More than one look at the file between two writes.
    let pause = || tokio::time::sleep(Duration::from_millis(600));
    let service = folder.start().await;
    for some in all[..5 * step].chunks(step) {
        let pieces: Vec<[String; 3]> = some.iter().map(|line| carried(line)).collect();
        let ([begin, other, end], rest) = (&pieces[0], pieces[1..].concat().concat());
        add(begin);
        pause().await;
        add(other);
        pause().await;
        add(&format!("{end}{rest}"));
    }
    Batch::of(&files(&[("pod.log", &all[..5 * step])])).await.is_said_by(&service).await;
    assert_eq!(service.metric("a2a_drift_received_total", "").await as usize, 5 * step, "each was read once");
    let pieces = all[5 * step..].iter().map(|line| carried(line)).collect::<Vec<_>>().concat();
    add(&pieces[..1].concat());
    pause().await;
    service.kill();
    let service = folder.start().await;
    pause().await;
    add(&pieces[1..].concat());
    let found = Batch::of(&files(&[("pod.log", &all)])).await.is_said_by(&service).await;
    println!("{found} findings");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_understood_is_told_once_a_file_and_receiver_and_a_quiet_document_needs_no_last_line_end() {
    let folder = Folder::new(&format!("follow = [\"logs\"]\nfollow_patience = \"300ms\"\n{FOR_EVER}"));
    fs::create_dir(folder.path("logs")).unwrap();
    fs::write(folder.path("logs/people.csv"), "name,age\n".repeat(100)).unwrap();
    fs::write(folder.path("logs/old.log.gz"), [0x1f, 0x8b, 8, 0, b'\n']).unwrap();
    let har = fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/captures/a2a-python-1.3.0/jsonrpc.har")).unwrap();
    let har: serde_json::Value = serde_json::from_slice(&har).unwrap();
    fs::write(folder.path("logs/day.har"), har.to_string()).unwrap();

    let service = folder.start().await;
    for _ in 0..3 {
        service.post("/v1/a2a/exchanges", "application/x-ndjson", b"{\"a\" 1}\n{\"b\" 2}\n".to_vec()).await;
    }
    let entries = har["log"]["entries"].as_array().unwrap().len();
    eventually("read", async || {
        let records = service.metric("a2a_drift_received_total", "receiver=\"follow\"").await as usize;
        (records >= entries).then_some(())
    })
    .await;
    let told = |words: &[&str]| {
        let said = service.said();
        said.iter().filter(|line| words.iter().all(|word| line.contains(word))).count()
    };
    eventually("told", async || (told(&["WARN", "not understood", "people.csv:1"]) == 1).then_some(())).await;
    assert_eq!(told(&["not understood", "people.csv"]), 1, "{:?}", service.said());
    assert_eq!(told(&["WARN", "not understood", "exchanges:1", "bad-json"]), 1, "{:?}", service.said());
    assert_eq!(told(&["not understood", "malformed"]), 0, "its lines were told");
    assert_eq!(told(&["WARN", "a packed file is not followed", "old.log.gz"]), 1, "{:?}", service.said());
    service.signal("TERM");
    eventually("stopped", async || (told(&["a2a-drift: stopped"]) == 1).then_some(())).await;
    let place = |words: &str| service.said().iter().position(|said| said == words).unwrap();
    assert!(place("a2a-drift: starting: reading what was kept") < place("a2a-drift: ready"));
}
