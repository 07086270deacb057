//! Files that grow, are renamed, truncated and written anew.

use std::io::Write;
use std::time::Instant as Stopwatch;

use super::followed::{LONGEST_DOCUMENT, PIECE, SHORT};
use super::kind::Kind;
use super::*;

const PATIENCE: Duration = Duration::from_secs(3600);

struct Log {
    folder: tempfile::TempDir,
}

impl Log {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn add(&self, name: &str, text: &str) {
        let mut file = fs::OpenOptions::new().create(true).append(true).open(self.path(name)).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    fn follower(&self, marks: Vec<Mark>) -> Follower {
        Follower::new(vec![self.folder.path().to_owned()], marks, 1 << 20, PATIENCE)
    }
}

/// What a poll hands out, taken in at once.
fn taken(follower: &mut Follower) -> Vec<(u64, String)> {
    let grown = follower.poll();
    grown.iter().for_each(|piece| follower.done(piece, None));
    grown.into_iter().map(|piece| (piece.lines_before, String::from_utf8(piece.bytes).unwrap())).collect()
}

#[test]
fn lines_are_handed_out_once_they_are_whole_with_their_place_in_the_file() {
    let log = Log::new();
    log.add("a.log", "1\n2\n3");
    let mut follower = log.follower(vec![]);
    assert_eq!(taken(&mut follower), [(0, "1\n2\n".to_owned())]);
    assert_eq!(taken(&mut follower), []);
    log.add("a.log", "3\n4\n");
    assert_eq!(taken(&mut follower), [(2, "33\n4\n".to_owned())]);
}

#[test]
fn many_long_files_are_handed_out_a_few_at_a_time_and_each_has_its_turn() {
    let log = Log::new();
    let line = "x".repeat(1023) + "\n";
    for name in 0..12 {
        log.add(&format!("{name}.log"), &line.repeat(5 << 10));
    }
    let mut follower = log.follower(vec![]);
    let mut lines = BTreeMap::new();
    loop {
        let grown = follower.poll();
        let bytes: usize = grown.iter().map(|piece| piece.bytes.len()).sum();
        assert!(bytes <= AT_ONCE + PIECE as usize, "{bytes}");
        for piece in &grown {
            *lines.entry(piece.path.clone()).or_insert(0) += piece.bytes.len() / line.len();
            follower.done(piece, None);
        }
        if grown.is_empty() {
            break;
        }
        // Those that are busy do not keep the others waiting.
        for name in 0..6 {
            let path = log.path(&format!("{name}.log"));
            if lines.values().sum::<usize>() < 60 << 10 && lines.contains_key(&path) {
                log.add(&format!("{name}.log"), &line.repeat(4 << 10));
            }
        }
    }
    assert_eq!(lines.len(), 12);
    assert!(lines.values().all(|lines| *lines >= 5 << 10), "{lines:?}");
}

#[test]
fn a_long_line_without_an_end_is_not_read_with_every_look_at_it() {
    let log = Log::new();
    log.add("a.log", &"x".repeat(32 << 20));
    let mut follower = Follower::new(vec![log.path("a.log")], vec![], 1 << 30, PATIENCE);
    let begun = Stopwatch::now();
    for _ in 0..200 {
        assert_eq!(follower.poll(), []);
    }
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    log.add("a.log", "\n");
    assert_eq!(taken(&mut follower).len(), 1);
}

#[test]
fn a_document_of_great_length_is_refused() {
    let log = Log::new();
    log.add("a.json", &format!("[\n{}", " ".repeat(PIECE as usize)));
    let file = fs::OpenOptions::new().write(true).open(log.path("a.json")).unwrap();
    file.set_len(LONGEST_DOCUMENT + 1).unwrap();
    let mut follower = log.follower(vec![]);
    for _ in 0..3 {
        assert_eq!(follower.poll(), []);
    }
    let kinds: Vec<Kind> = follower.files.values().map(|followed| followed.kind).collect();
    assert_eq!(kinds, [Kind::TooLong]);
}

#[test]
fn what_was_not_taken_in_is_handed_out_again() {
    let log = Log::new();
    log.add("a.log", "1\n");
    let mut follower = log.follower(vec![]);
    let first = follower.poll();
    assert_eq!(follower.poll(), []);
    follower.again(&first[0]);
    assert_eq!(follower.poll(), first);
}

#[test]
fn a_position_is_remembered_over_a_restart() {
    let log = Log::new();
    log.add("a.log", "1\n");
    let mut follower = log.follower(vec![]);
    taken(&mut follower);
    let marks: Vec<Mark> = serde_json::from_slice(&serde_json::to_vec(&follower.marks()).unwrap()).unwrap();
    log.add("a.log", "2\n");
    assert_eq!(taken(&mut log.follower(marks)), [(1, "2\n".to_owned())]);
}

#[test]
fn a_renamed_file_is_read_to_its_end_and_the_new_one_from_its_beginning() {
    let log = Log::new();
    log.add("a.log", "1\n");
    let mut follower = log.follower(vec![]);
    taken(&mut follower);
    log.add("a.log", "2\n");
    fs::rename(log.path("a.log"), log.path("a.log.1")).unwrap();
    log.add("a.log", "3\n");
    let mut lines = taken(&mut follower);
    lines.sort();
    assert_eq!(lines, [(0, "3\n".to_owned()), (1, "2\n".to_owned())]);
    assert_eq!(taken(&mut follower), []);
}

#[test]
fn a_removed_file_is_read_to_its_end() {
    let log = Log::new();
    log.add("a.log", "1\n");
    let mut follower = log.follower(vec![]);
    taken(&mut follower);
    log.add("a.log", "2\n");
    fs::remove_file(log.path("a.log")).unwrap();
    assert_eq!(taken(&mut follower), [(1, "2\n".to_owned())]);
    assert_eq!((taken(&mut follower), follower.files.len()), (vec![], 0));
}

#[test]
fn a_truncated_file_is_read_anew_even_if_it_has_outgrown_the_old() {
    let log = Log::new();
    log.add("a.log", "first\n");
    let mut follower = log.follower(vec![]);
    taken(&mut follower);
    fs::write(log.path("a.log"), "2\n").unwrap();
    assert_eq!(taken(&mut follower), [(0, "2\n".to_owned())]);
    fs::write(log.path("a.log"), "another, longer one\n").unwrap();
    assert_eq!(taken(&mut follower), [(0, "another, longer one\n".to_owned())]);
}

#[test]
fn a_document_is_handed_out_whole_when_it_grows_no_more() {
    let log = Log::new();
    log.add("a.har", "{\n  \"log\": {\n");
    let mut follower = log.follower(vec![]);
    assert_eq!(taken(&mut follower), []);
    log.add("a.har", "  }\n}");
    assert_eq!(taken(&mut follower), []);
    assert_eq!(taken(&mut follower), [(0, "{\n  \"log\": {\n  }\n}".to_owned())]);
}

#[test]
fn a_document_of_one_line_without_an_end_is_handed_out_whole_when_it_was_quiet_for_long() {
    let log = Log::new();
    log.add("a.har", "{\"log\":{}}");
    let mut follower = log.follower(vec![]);
    assert_eq!((taken(&mut follower), taken(&mut follower)), (vec![], vec![]));
    follower.patience = Duration::ZERO;
    assert_eq!(taken(&mut follower), [(0, "{\"log\":{}}".to_owned())]);
    assert_eq!(taken(&mut follower), []);
    // Written anew with more in it.
    fs::write(log.path("a.har"), "{\"log\":{\"entries\":[]}}").unwrap();
    assert_eq!(taken(&mut follower), []);
    assert_eq!(taken(&mut follower), [(0, "{\"log\":{\"entries\":[]}}".to_owned())]);
}

#[test]
fn the_last_line_of_a_quiet_file_needs_no_end_if_it_is_a_whole_value() {
    let log = Log::new();
    log.add("a.log", "{}\n{\"a\":");
    let mut follower = log.follower(vec![]);
    follower.patience = Duration::ZERO;
    assert_eq!(taken(&mut follower), [(0, "{}\n".to_owned())]);
    assert_eq!((taken(&mut follower), taken(&mut follower)), (vec![], vec![]), "a writer's buffer may hold the rest");
    log.add("a.log", "1}");
    assert_eq!(taken(&mut follower), [], "it grows");
    assert_eq!(taken(&mut follower), [(1, "{\"a\":1}".to_owned())]);
    log.add("a.log", "\n{}\n");
    assert_eq!(taken(&mut follower), [(1, "\n{}\n".to_owned())]);
}

#[test]
fn a_document_that_is_written_anew_with_more_in_it_is_handed_out_whole_again_and_one_beside_it_alone() {
    let log = Log::new();
    let first = "{\n  \"entries\": [\n    1\n  ]\n}\n";
    log.add("a.har", first);
    let mut follower = log.follower(vec![]);
    taken(&mut follower);
    assert_eq!(taken(&mut follower), [(0, first.to_owned())]);
    let more = first.replace("1\n", "1, 2\n");
    fs::write(log.path("a.har"), &more).unwrap();
    taken(&mut follower);
    assert_eq!(taken(&mut follower), [(0, more)]);
    log.add("a.har", "{\n}\n");
    assert_eq!(taken(&mut follower), [(5, "{\n}\n".to_owned())]);
}

/// The one piece that a poll hands out.
fn one(follower: &mut Follower) -> Grown {
    let mut grown = follower.poll();
    assert_eq!(grown.len(), 1);
    grown.remove(0)
}

fn incomplete(from: u64) -> Option<Incomplete> {
    Some(Incomplete { from, known: HashSet::from([7]) })
}

fn text(piece: &Grown) -> &str {
    std::str::from_utf8(&piece.bytes).unwrap()
}

#[test]
fn what_is_not_complete_is_handed_out_again_with_what_was_added() {
    let log = Log::new();
    log.add("a.log", "1\n2\n3\n");
    let mut follower = log.follower(vec![]);
    let piece = one(&mut follower);
    follower.done(&piece, incomplete(2));
    assert_eq!(follower.poll(), [], "nothing was added");
    log.add("a.log", "4");
    assert_eq!(follower.poll(), [], "no whole line was added");
    log.add("a.log", "\n");
    let piece = one(&mut follower);
    assert_eq!((text(&piece), piece.lines_before, piece.waits_from), ("2\n3\n4\n", 1, 1));
    assert_eq!(*piece.known, HashSet::from([7]));
    follower.again(&piece);
    assert_eq!(one(&mut follower), piece);
    follower.done(&piece, incomplete(3));
    log.add("a.log", "5\n");
    let piece = one(&mut follower);
    assert_eq!((text(&piece), piece.lines_before), ("4\n5\n", 3));
    follower.done(&piece, None);
    log.add("a.log", "6\n");
    let piece = one(&mut follower);
    assert_eq!((text(&piece), piece.lines_before, piece.known.len()), ("6\n", 5, 0));
}

#[test]
fn after_its_time_what_is_not_complete_is_handed_out_to_be_read_as_it_is_and_what_came_since_may_wait() {
    let log = Log::new();
    log.add("a.log", "1\n2\n");
    let mut follower = log.follower(vec![]);
    let piece = one(&mut follower);
    follower.done(&piece, incomplete(2));
    log.add("a.log", "3\n");
    let piece = one(&mut follower);
    follower.done(&piece, incomplete(1));
    follower.patience = Duration::ZERO;
    let piece = one(&mut follower);
    assert_eq!((text(&piece), piece.waits_from), ("2\n3\n", 2), "the third line came later");
    follower.done(&piece, incomplete(2));
    let piece = one(&mut follower);
    assert_eq!((text(&piece), piece.waits_from), ("3\n", 2));
    follower.done(&piece, incomplete(1));
    assert_eq!(follower.poll(), [], "it has had its time, whatever is said of it");
}

#[test]
fn what_is_not_complete_is_read_again_after_a_restart() {
    let log = Log::new();
    log.add("a.log", "1\n2\n");
    let mut follower = log.follower(vec![]);
    let piece = one(&mut follower);
    follower.done(&piece, incomplete(2));
    let marks: Vec<Mark> = serde_json::from_slice(&serde_json::to_vec(&follower.marks()).unwrap()).unwrap();
    log.add("a.log", "3\n");
    assert_eq!(taken(&mut log.follower(marks)), [(1, "2\n3\n".to_owned())]);
}

#[test]
fn a_removed_file_is_kept_as_long_as_something_of_it_is_waited_for() {
    let log = Log::new();
    log.add("a.log", "1\n");
    let mut follower = log.follower(vec![]);
    let piece = one(&mut follower);
    follower.done(&piece, incomplete(1));
    fs::remove_file(log.path("a.log")).unwrap();
    assert_eq!((follower.poll(), follower.files.len()), (vec![], 1));
    follower.patience = Duration::ZERO;
    assert_eq!(taken(&mut follower), [(0, "1\n".to_owned())]);
    assert_eq!((taken(&mut follower), follower.files.len()), (vec![], 0));
}

#[test]
fn a_file_that_is_truncated_within_what_is_waited_for_is_read_anew() {
    let log = Log::new();
    log.add("a.log", "1\n2\n3\n");
    let mut follower = log.follower(vec![]);
    let piece = one(&mut follower);
    follower.done(&piece, incomplete(1));
    fs::write(log.path("a.log"), "1\n").unwrap();
    let piece = one(&mut follower);
    assert_eq!((text(&piece), piece.known.len()), ("1\n", 0));
}

#[test]
fn reading_again_what_stays_incomplete_costs_no_more_than_reading_it() {
    let log = Log::new();
    let line = format!("{}\n", "x".repeat(1 << 10));
    log.add("a.log", &line);
    let mut follower = log.follower(vec![]);
    let (mut handed_out, lines) = (0, 2000);
    for _ in 0..lines {
        log.add("a.log", &line);
        for piece in follower.poll() {
            handed_out += piece.bytes.len();
            follower.done(&piece, incomplete(1));
        }
    }
    // Short ones each time; then when as much was added, or a second is over.
    let short = 2 * (SHORT as usize / line.len()) * SHORT as usize;
    assert!(handed_out < short + 12 * lines * line.len(), "{handed_out}");
}

#[test]
fn a_log_of_values_over_several_lines_is_no_document() {
    let log = Log::new();
    log.add("a.log", "{\n  \"a\": 1\n}\n");
    let mut follower = log.follower(vec![]);
    assert_eq!(taken(&mut follower), []);
    log.add("a.log", "{\n");
    assert_eq!(taken(&mut follower), [(0, "{\n  \"a\": 1\n}\n{\n".to_owned())]);
    // Objects that Node printed are no JSON at all.
    log.add("b.log", "{\n  a: 1,\n");
    assert_eq!(taken(&mut follower), [(0, "{\n  a: 1,\n".to_owned())]);
}

#[test]
fn packed_and_hidden_files_are_passed_over() {
    let log = Log::new();
    fs::write(log.path("a.log.gz"), [0x1f, 0x8b, 8, 0, b'\n']).unwrap();
    log.add(".position", "1\n");
    assert_eq!(taken(&mut log.follower(vec![])), []);
}

#[test]
fn a_line_without_an_end_is_given_up_at_the_limit() {
    let log = Log::new();
    log.add("a.log", &"x".repeat(100));
    let mut follower = Follower::new(vec![log.path("a.log")], vec![], 64, PATIENCE);
    assert_eq!(taken(&mut follower), [(0, "x".repeat(100))]);
}
