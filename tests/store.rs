//! The store under a disk that fails: nothing acknowledged is lost, nothing is there twice, nothing ends the program.
//!
//! `MORE=20 cargo test --test store` tries that many times more.

#![allow(missing_docs, unreachable_pub, clippy::unwrap_used, clippy::panic, reason = "a test")]

#[path = "store/capture.rs"]
mod capture;
#[path = "store/faulty.rs"]
mod faulty;
#[path = "store/script.rs"]
mod script;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use a2a_drift::instant::Instant;
use a2a_drift::store::{Damage, Entry, Piece, Retention, Store, StoreSettings, read_facts};

use faulty::{Fault, FaultyDisk, next};
use script::{FOLDER, Model, all, fact, ids, open};

const STEPS: u64 = 17;

/// How many times more than usual.
fn more() -> u64 {
    std::env::var("MORE").ok().and_then(|more| more.parse().ok()).unwrap_or(1)
}

/// Operations of the script on a sound disk.
fn operations(seed: u64) -> u64 {
    let disk = FaultyDisk::default();
    let mut model = Model::new(seed);
    model.run(&disk, STEPS);
    assert_eq!(model.refused, 0);
    disk.operations()
}

/// Runs the script with a fault, then opens what is left, and once more after a loss of power.
fn run(seed: u64, at: u64, fault: Fault, power: bool) -> u64 {
    let disk = FaultyDisk::failing(at, fault);
    let mut model = Model::new(seed);
    model.run(&disk, STEPS);
    if power {
        disk.lose_power();
    } else {
        disk.restart();
    }
    let (store, recovered) = open(&disk).unwrap();
    model.check(&store, &recovered);
    let told = ids(&all(&store));
    drop(store);

    disk.lose_power();
    let (store, recovered) = open(&disk).unwrap();
    model.check(&store, &recovered);
    assert!(told.is_subset(&ids(&all(&store))), "what was told after a restart is gone");
    model.send_again_and_count(&disk, store);
    model.refused
}

fn every_operation(fault: Fault, power: bool) -> u64 {
    let mut refused = 0;
    for seed in 0..more() {
        let all = operations(seed);
        assert!(all > 100, "{all} operations");
        refused += (1..=all).map(|at| run(seed, at, fault, power)).sum::<u64>();
    }
    refused
}

#[test]
fn a_loss_of_power_at_any_operation_loses_nothing_acknowledged() {
    every_operation(Fault::Crash, true);
}

#[test]
fn a_killed_process_at_any_operation_loses_nothing_acknowledged() {
    every_operation(Fault::Crash, false);
}

#[test]
fn an_error_of_any_operation_is_a_refusal_and_loses_nothing_acknowledged() {
    assert!(every_operation(Fault::Error, true) > 20);
}

#[test]
fn a_write_cut_short_is_a_refusal_and_loses_nothing_acknowledged() {
    assert!(every_operation(Fault::Short, true) > 20);
}

#[test]
fn a_full_disk_is_a_refusal_until_there_is_space_again() {
    assert!(every_operation(Fault::Full, true) > 20);
}

/// Files of a disk.
type Files = BTreeMap<PathBuf, Vec<u8>>;

/// A log of a few commits, and after each the segment that it is in and how long that was.
fn log(commits: u64) -> (Files, Vec<(PathBuf, usize)>) {
    let disk = FaultyDisk::default();
    let (mut store, _) = open(&disk).unwrap();
    let mut ends = Vec::new();
    for number in 0..commits {
        store.append(&Entry::Facts(&fact(number)), Instant(0)).unwrap();
        store.commit(Instant(0)).unwrap();
        let (path, bytes) = disk.files().pop_last().unwrap();
        ends.push((path, bytes.len()));
    }
    (disk.files(), ends)
}

/// Opens damaged files; the facts are those of the commits that are expected. Tells the damage that is found.
fn opens_with(files: &Files, expected: impl Fn(u64) -> bool, commits: u64, what: &str) -> Vec<Damage> {
    let disk = FaultyDisk::with(files.clone());
    let (store, recovered) = open(&disk).unwrap_or_else(|error| panic!("{what}: {error:?}"));
    let expected: BTreeSet<String> =
        (0..commits).filter(|number| expected(*number)).flat_map(|number| ids(&fact(number))).collect();
    assert_eq!(ids(&all(&store)), expected, "{what}");
    assert_eq!(recovered.facts, expected.len() as u64, "{what}");
    let bytes = |files: &Files| files.values().map(Vec::len).sum::<usize>();
    let kept = bytes(&disk.files());
    assert!(kept + 24 >= bytes(files), "{what}: all but a header is kept, aside if need be");
    drop(store);
    let (_, again) = open(&disk).unwrap();
    assert_eq!((again.damage.len(), again.facts), (0, expected.len() as u64), "{what}: it is cut off");
    recovered.damage
}

#[test]
fn a_log_cut_at_any_byte_is_read_up_to_there() {
    const COMMITS: u64 = 12;
    let (files, ends) = log(COMMITS);
    let (last, bytes) = files.last_key_value().unwrap();
    assert!(files.len() > 2 && ends.iter().filter(|(path, _)| path == last).count() > 1);
    for cut in 0..bytes.len() {
        let mut files = files.clone();
        files.insert(last.clone(), bytes[..cut].to_vec());
        let expected = |number: u64| ends[number as usize].0 != *last || ends[number as usize].1 <= cut;
        opens_with(&files, expected, COMMITS, &format!("cut at {cut}"));
    }
}

#[test]
fn a_flipped_bit_costs_its_entry_and_nothing_else() {
    const COMMITS: u64 = 12;
    let (files, ends) = log(COMMITS);
    let segments: Vec<(&PathBuf, &Vec<u8>)> = files.iter().filter(|(_, bytes)| !bytes.is_empty()).collect();
    let mut random = 1;
    for _ in 0..1_000 * more() {
        let (path, bytes) = segments[(next(&mut random) % segments.len() as u64) as usize];
        let at = (next(&mut random) % bytes.len() as u64) as usize;
        let mut damaged = files.clone();
        damaged.get_mut(path).unwrap()[at] ^= 1 << (next(&mut random) % 8);
        let hit = ends.iter().position(|(segment, end)| segment == path && at < *end);
        // The header is 24 bytes, and tells nothing that is not known without it.
        let expected = |number: u64| at < 24 || Some(number as usize) != hit;
        let damage = opens_with(&damaged, expected, COMMITS, &format!("{} at {at}", path.display()));
        let is_tail = at >= 24 && hit == Some(COMMITS as usize - 1);
        assert_eq!(damage.iter().map(|damage| damage.is_tail).collect::<Vec<_>>(), [is_tail], "at {at}");
        assert!(
            damage[0].offset <= at as u64 && (at as u64) < damage[0].offset + damage[0].bytes,
            "{damage:?} at {at}"
        );
    }
}

#[test]
fn a_log_that_is_mended_is_the_same_after_a_crash_at_any_operation() {
    const COMMITS: u64 = 12;
    let (mut files, ends) = log(COMMITS);
    // An entry in the middle of a segment, and a header.
    let path =
        files.keys().find(|path| ends.iter().filter(|(segment, _)| segment == *path).count() > 2).unwrap().clone();
    let first = ends.iter().position(|(segment, _)| *segment == path).unwrap();
    let bytes = files.get_mut(&path).unwrap();
    bytes[3] ^= 1;
    bytes[ends[first].1 + 40] ^= 1;
    let expected: BTreeSet<String> =
        (0..COMMITS).filter(|number| *number as usize != first + 1).flat_map(|number| ids(&fact(number))).collect();
    let sound = FaultyDisk::with(files.clone());
    assert_eq!(open(&sound).unwrap().1.damage.len(), 2);
    for power in [false, true] {
        for at in 1..=sound.operations() {
            let disk = FaultyDisk::with(files.clone());
            disk.fail(at, Fault::Crash);
            _ = open(&disk);
            if power {
                disk.lose_power();
            } else {
                disk.restart();
            }
            let (store, _) = open(&disk).unwrap();
            assert_eq!(ids(&all(&store)), expected, "at {at}, {power}");
        }
    }
}

/// A store with segments of which the last is written to, a piece that is open and one that is done.
fn written(disk: &FaultyDisk) -> Store {
    let (mut store, _) = open(disk).unwrap();
    store.append(&Entry::Piece { id: b"open", bytes: b"content" }, Instant(0)).unwrap();
    store.append(&Entry::Piece { id: b"done", bytes: b"content" }, Instant(0)).unwrap();
    for number in 0..12 {
        store.append(&Entry::Facts(&fact(number)), Instant(0)).unwrap();
        store.commit(Instant(0)).unwrap();
    }
    store.append(&Entry::Done(&[b"done".to_vec()]), Instant(0)).unwrap();
    store.commit(Instant(0)).unwrap();
    assert!(store.sizes().log_segments > 2);
    store
}

/// A log has the facts of these numbers and the open piece.
fn has(disk: &FaultyDisk, numbers: impl Iterator<Item = u64>, what: &str) {
    let (store, recovered) = open(disk).unwrap();
    let expected: BTreeSet<String> = numbers.flat_map(|number| ids(&fact(number))).collect();
    assert_eq!(ids(&all(&store)), expected, "{what}");
    assert_eq!(recovered.facts, expected.len() as u64, "{what}");
    assert_eq!(recovered.pieces, [Piece { id: b"open".to_vec(), bytes: b"content".to_vec() }], "{what}");
    assert_eq!(recovered.damage, [], "{what}");
}

#[test]
fn a_commit_into_a_folder_that_was_removed_is_refused_and_the_next_brings_back_all_that_was_acknowledged() {
    let disk = FaultyDisk::default();
    let mut store = written(&disk);
    disk.remove_all();
    store.append(&Entry::Facts(&fact(12)), Instant(0)).unwrap();
    let error = store.commit(Instant(0)).unwrap_err();
    assert!(error.is_retryable(), "{error:?}");
    assert!(error.to_string().contains("removed or replaced"), "{error}");
    store.append(&Entry::Facts(&fact(13)), Instant(0)).unwrap();
    store.commit(Instant(0)).unwrap();
    drop(store);
    disk.lose_power();
    has(&disk, (0..12).chain([13]), "after a loss of power");
}

#[test]
fn a_folder_is_kept_though_the_disk_fails_while_it_is_written_again() {
    let operations = {
        let disk = FaultyDisk::default();
        let mut store = written(&disk);
        disk.remove_all();
        let before = disk.operations();
        assert!(store.keep().unwrap() && !store.keep().unwrap());
        disk.operations() - before
    };
    for fault in [Fault::Error, Fault::Short, Fault::Full] {
        for at in 1..=operations {
            let disk = FaultyDisk::default();
            let mut store = written(&disk);
            disk.remove_all();
            disk.fail(at, fault);
            let mut tries = 0;
            while store.keep().is_err() {
                tries += 1;
                assert!(tries < 60, "{fault:?} at {at}");
            }
            drop(store);
            disk.lose_power();
            has(&disk, 0..12, &format!("{fault:?} at {at}"));
        }
    }
}

#[test]
fn of_two_processes_that_came_to_have_one_folder_the_one_whose_folder_was_removed_writes_no_more() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("data");
    let commit = |store: &mut Store, number: u64| {
        store.append(&Entry::Facts(&fact(number)), Instant(0)).unwrap();
        store.commit(Instant(0))
    };
    let (mut first, _) = Store::open(&folder, script::settings()).unwrap();
    commit(&mut first, 0).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let (mut second, recovered) = Store::open(&folder, script::settings()).unwrap();
    assert_eq!(recovered.facts, 0);
    commit(&mut second, 1).unwrap();
    assert!(commit(&mut first, 2).unwrap_err().is_retryable());
    let error = commit(&mut first, 2).unwrap_err();
    assert!(error.to_string().contains("another process"), "{error}");
    assert!(first.close(Instant(i64::MAX), Instant(0)).is_err() && first.retain(Instant(0)).is_err());
    drop(second);
    // What the other wrote is neither replaced nor mixed with.
    let error = commit(&mut first, 2).unwrap_err();
    assert!(error.to_string().contains("another process wrote this"), "{error}");
    drop(first);
    let (store, _) = Store::open(&folder, script::settings()).unwrap();
    assert_eq!(ids(&all(&store)), ids(&fact(1)));
}

#[test]
fn a_folder_that_was_removed_or_moved_away_is_there_again_with_the_facts_of_the_log() {
    for is_moved in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("data");
        let (mut store, _) = Store::open(&folder, script::settings()).unwrap();
        for number in 0..8 {
            store.append(&Entry::Facts(&fact(number)), Instant(0)).unwrap();
            store.commit(Instant(0)).unwrap();
        }
        if is_moved {
            std::fs::rename(&folder, dir.path().join("away")).unwrap();
        } else {
            std::fs::remove_dir_all(&folder).unwrap();
        }
        assert!(store.keep().unwrap());
        store.append(&Entry::Facts(&fact(8)), Instant(0)).unwrap();
        store.commit(Instant(0)).unwrap();
        assert!(Store::open(&folder, script::settings()).is_err(), "it has the lock");
        drop(store);
        let (store, _) = Store::open(&folder, script::settings()).unwrap();
        assert_eq!(ids(&all(&store)), (0..9).flat_map(|number| ids(&fact(number))).collect());
    }
}

#[test]
fn of_very_many_segments_only_so_many_files_stay_open_and_those_are_brought_back() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("data");
    let mut settings = script::settings();
    settings.log.segment_bytes = 1;
    let open = || Store::open(&folder, settings.clone()).unwrap();
    let open_files = || std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
    let before = open_files();
    let (mut store, _) = open();
    for number in 0..400 {
        store.append(&Entry::Facts(&fact(number)), Instant(0)).unwrap();
        store.commit(Instant(0)).unwrap();
    }
    assert!(open_files() < before + 250, "{}", open_files());
    drop(store);
    let (mut store, recovered) = open();
    assert_eq!((recovered.segments, recovered.facts), (400, 400));
    assert!(open_files() < before + 250, "{}", open_files());
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(store.keep().unwrap());
    assert!(store.close(Instant(i64::MAX), Instant(0)).unwrap().segments >= 128);
    assert!(all(&store).len() >= 128);
}

#[test]
fn what_does_not_belong_into_the_folder_is_passed_over() {
    let dir = tempfile::tempdir().unwrap();
    let open = || Store::open(dir.path(), script::settings()).unwrap();
    let (mut store, _) = open();
    for number in 0..8 {
        store.append(&Entry::Facts(&fact(number)), Instant(0)).unwrap();
        store.commit(Instant(0)).unwrap();
        if number == 3 {
            store.close(Instant(i64::MAX), Instant(0)).unwrap();
        }
    }
    let files = store.sizes().lake_files;
    drop(store);

    let hour = walkdir::WalkDir::new(dir.path().join("lake")).min_depth(3).max_depth(3);
    let hour = hour.into_iter().next().unwrap().unwrap().into_path();
    let date = hour.parent().unwrap();
    let folders = [hour.join("part-000000000096.parquet"), date.join("hour=7"), date.join("notes")];
    folders.iter().for_each(|folder| std::fs::create_dir(folder).unwrap());
    std::fs::create_dir(dir.path().join("wal/2.log")).unwrap();
    std::fs::create_dir(dir.path().join("wal/000000000300.log")).unwrap();
    let lake = dir.path().join("lake");
    let strays = [lake.join("README"), lake.join(".DS_Store"), date.join("_SUCCESS"), hour.join("_SUCCESS")];
    let of_parquet = [hour.join("part-7.parquet"), hour.join("other.parquet")];
    let of_log = [dir.path().join("wal/7.log"), dir.path().join("wal/notes.log")];
    for stray in strays.iter().chain(&of_parquet).chain(&of_log) {
        std::fs::write(stray, b"a stray file").unwrap();
    }
    std::os::unix::fs::symlink("nowhere", lake.join("link")).unwrap();

    let (mut store, recovered) = open();
    assert_eq!(recovered.damage, []);
    assert_eq!(store.sizes().lake_files, files);
    assert_eq!(all(&store).len(), 8);
    store.append(&Entry::Facts(&fact(8)), Instant(0)).unwrap();
    store.commit(Instant(0)).unwrap();
    store.close(Instant(i64::MAX), Instant(0)).unwrap();
    drop(store);
    let (store, _) = open();
    assert_eq!(all(&store).len(), 9);
    assert!(strays.iter().chain(&of_parquet).chain(&of_log).chain(&folders).all(|stray| stray.exists()));
}

#[test]
fn files_of_the_lake_that_are_broken_or_no_facts_are_passed_over() {
    let (disk, store) = with_lake(script::settings());
    drop(store);
    let sound = disk.files();
    let everything = Instant(0)..Instant(i64::MAX);
    let lake = || sound.keys().filter(|path| path.extension().is_some_and(|extension| extension == "parquet"));
    let in_log = open(&disk).unwrap().0.load(everything.clone()).unwrap().len();
    for path in lake() {
        let of_file = read_facts(sound[path].clone()).unwrap().len();
        let cut = sound[path][..sound[path].len() / 2].to_vec();
        for bytes in [Vec::new(), b"rubbish".to_vec(), b"PAR1rubbishPAR1".to_vec(), cut, foreign()] {
            let mut files = sound.clone();
            files.insert(path.clone(), bytes);
            let disk = FaultyDisk::with(files);
            let (mut store, _) = open(&disk).unwrap();
            assert_eq!(store.load(everything.clone()).unwrap().len(), in_log - of_file);
            assert!(store.load_tables(&["task_events"], everything.clone()).is_ok());
            assert!(store.load_tasks(["task-1".to_owned()].into(), everything.clone()).is_ok());
            assert!(store.tasks_before(Instant(i64::MAX)).is_ok());
            store.append(&Entry::Facts(&fact(1)), Instant(200)).unwrap();
            store.commit(Instant(200)).unwrap();
            store.close(Instant(300), Instant(300)).unwrap();
        }
    }
}

/// A sound Parquet file of something else.
fn foreign() -> Vec<u8> {
    use datafusion::parquet::arrow::ArrowWriter;
    let column: arrow::array::ArrayRef = Arc::new(arrow::array::Int64Array::from(vec![1, 2]));
    let batch = arrow::array::RecordBatch::try_from_iter([("n", column)]).unwrap();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

#[test]
fn two_processes_do_not_share_a_folder() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = Store::open(dir.path(), script::settings()).unwrap();
    let error = Store::open(dir.path(), script::settings()).unwrap_err();
    assert!(error.to_string().contains("another process"), "{error}");
    drop(store);
    Store::open(dir.path(), script::settings()).unwrap();
}

/// A store whose log of two segments is in the lake, at different hours.
fn with_lake(settings: StoreSettings) -> (FaultyDisk, Store) {
    let disk = FaultyDisk::default();
    let (mut store, _) = Store::open_on(Arc::new(disk.clone()), Path::new(FOLDER), settings).unwrap();
    for number in 0..8 {
        store.append(&Entry::Facts(&fact(number)), Instant(number as i64)).unwrap();
        store.commit(Instant(number as i64)).unwrap();
    }
    store.close(Instant(100), Instant(100)).unwrap();
    (disk, store)
}

#[test]
fn the_oldest_hour_goes_when_it_is_too_old_or_when_there_is_too_much() {
    // Facts 0 to 7 are of two hours: 6 and 7 o'clock.
    let hour = 3_600_000_000_000;
    let retention = Retention { max_age: Some(Duration::from_hours(1)), max_bytes: None };
    let (_, mut store) = with_lake(StoreSettings { retention, ..script::settings() });
    let eight = script::START + 2 * hour;
    assert_eq!(store.retain(Instant(eight)).unwrap().hours, 0);
    let files = store.sizes().lake_files;
    let dropped = store.retain(Instant(eight + 1)).unwrap();
    assert_eq!((dropped.hours, dropped.files + store.sizes().lake_files), (1, files));
    assert!(store.load(Instant(0)..Instant(script::START + hour)).unwrap().is_empty());
    assert!(!all(&store).is_empty());

    let retention = Retention { max_age: None, max_bytes: Some(1) };
    let (disk, mut store) = with_lake(StoreSettings { retention, ..script::settings() });
    let bytes = store.sizes().lake_bytes;
    let dropped = store.retain(Instant(0)).unwrap();
    assert_eq!((dropped.hours, dropped.bytes, store.sizes().lake_files), (2, bytes, 0));
    assert!(disk.files().keys().all(|path| !path.to_string_lossy().ends_with(".parquet")));
}

#[test]
fn a_log_that_is_too_large_goes_into_the_lake_though_it_is_young_and_its_open_pieces_stay() {
    let mut settings = script::settings();
    settings.log.max_bytes = 10_000;
    let disk = FaultyDisk::default();
    let (mut store, _) = Store::open_on(Arc::new(disk.clone()), Path::new(FOLDER), settings).unwrap();
    store.append(&Entry::Piece { id: b"open", bytes: b"content" }, Instant(0)).unwrap();
    for number in 0..12 {
        store.append(&Entry::Facts(&fact(number)), Instant(0)).unwrap();
        store.commit(Instant(0)).unwrap();
    }
    assert!(store.sizes().log_bytes > 10_000);
    let closed = store.close(Instant(0), Instant(0)).unwrap();
    assert!((closed.segments, closed.pieces) >= (1, 1) && store.sizes().log_bytes <= 10_000);
    assert_eq!(store.sizes().open_pieces, 1);
    drop(store);
    let (store, recovered) = open(&disk).unwrap();
    assert_eq!(recovered.pieces, [Piece { id: b"open".to_vec(), bytes: b"content".to_vec() }]);
    assert_eq!(all(&store).len(), 12);
}

#[test]
fn numbers_of_segments_go_on_after_the_log_is_empty() {
    let (disk, store) = with_lake(script::settings());
    assert_eq!(store.sizes().log_segments, 0);
    drop(store);
    let before = disk.files();
    let (mut store, _) = open(&disk).unwrap();
    store.append(&Entry::Facts(&fact(9)), Instant(200)).unwrap();
    store.commit(Instant(200)).unwrap();
    store.close(Instant(300), Instant(300)).unwrap();
    let after = disk.files();
    assert_eq!(after.len(), before.len() + 1);
    assert!(before.iter().all(|(path, bytes)| after.get(path) == Some(bytes)), "no file of the lake was replaced");
}

#[test]
fn bytes_that_are_no_sound_parquet_are_an_error_and_nothing_worse() {
    let (disk, _store) = with_lake(script::settings());
    let (_, sound) = disk.files().into_iter().find(|(path, _)| path.to_string_lossy().ends_with(".parquet")).unwrap();
    assert!(read_facts(sound.clone()).is_ok());
    let mut random = 7;
    for _ in 0..300 * more() {
        let mut bytes = sound.clone();
        let at = (next(&mut random) % bytes.len() as u64) as usize;
        match next(&mut random) % 3 {
            0 => bytes.truncate(at),
            1 => bytes[at] ^= 1 << (next(&mut random) % 8),
            _ => bytes[at] = next(&mut random) as u8,
        }
        // It may be read all the same: only pages that a reader asks for are checked.
        _ = read_facts(bytes);
    }
}

#[test]
fn the_newest_facts_of_log_and_lake_begin_where_as_many_as_are_asked_for_are_there() {
    const HOUR: i64 = 3_600_000_000_000;
    let disk = FaultyDisk::default();
    let (mut store, _) = open(&disk).unwrap();
    // One fact an hour, from the 400,000th hour on, the younger half in the log.
    let at = |number: i64| Instant((400_000 + number) * HOUR);
    for number in 0..10_i64 {
        let mut facts = fact(u64::try_from(number).unwrap());
        facts.commons_mut().for_each(|common| common.observed_at = at(number));
        store.append(&Entry::Facts(&facts), at(number)).unwrap();
        store.commit(at(number)).unwrap();
        if number == 4 {
            store.close(at(number + 1), at(number + 1)).unwrap();
        }
    }
    assert!(store.sizes().lake_files >= 5 && store.sizes().log_segments > 0, "{:?}", store.sizes());
    let each = fact(0).len();
    let newest =
        |range: &Range<Instant>, most: i64| store.newest(range, usize::try_from(most).unwrap() * each).unwrap();
    let whole = at(0)..at(10);
    for most in 1..=10 {
        assert_eq!(newest(&whole, most), at(10 - most), "{most}");
    }
    assert_eq!(newest(&(at(-5)..at(10)), 11), at(-5), "all of the range, where it holds fewer");
    assert_eq!(newest(&(at(0)..at(7)), 2), at(5), "none of what is outside");
    assert_eq!(newest(&(at(8)..at(10)), 5), at(8));
}
