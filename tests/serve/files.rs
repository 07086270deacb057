//! Files that are followed: as they grow, through rotation and truncation, over restarts.

use std::fs;
use std::io::Write;
use std::time::Duration;

use super::batch::{Batch, files, lines};
use super::host::{FOR_EVER, Folder};

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
