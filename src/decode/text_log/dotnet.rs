//! .NET's console logger, of categories that begin with `A2A`.
//!
//! The simple formatter writes the sentence on the next line, indented; that line has no sign of its own and is known by
//! its words (`console`), and the head is a record without a sentence, whose time is the next one's. With `SingleLine`, and by the systemd formatter, it is all on one.
//!
//! Source: .NET documentation, "Console log formatting"; `SimpleConsoleFormatter` of Microsoft.Extensions.Logging.Console.

use super::Line;
use crate::decode::python_log::{Stamp, split_time};

/// How the simple formatter writes levels.
const LEVELS: [(&str, &str); 6] = [
    ("trce: ", "TRACE"),
    ("dbug: ", "DEBUG"),
    ("info: ", "INFO"),
    ("warn: ", "WARN"),
    ("fail: ", "ERROR"),
    ("crit: ", "FATAL"),
];

/// How the systemd formatter writes them: by syslog's numbers.
const SYSTEMD: [(&str, &str); 5] =
    [("<7>", "DEBUG"), ("<6>", "INFO"), ("<4>", "WARN"), ("<3>", "ERROR"), ("<2>", "FATAL")];

/// Reads a line: `level: Category[event] sentence`, behind a time where the program asks for one.
pub(super) fn read(line: &str) -> Option<Line> {
    let Stamp { at, is_zoned, is_bad: has_bad_time, rest } = split_time(line);
    let rest = rest.trim_start();
    let (level, rest) =
        LEVELS.iter().chain(&SYSTEMD).find_map(|(word, level)| Some((*level, rest.strip_prefix(word)?)))?;
    let (category, rest) = rest.split_once('[').filter(|(category, _)| is_category(category))?;
    let (event, said) = rest.split_once(']')?;
    event.bytes().all(|byte| byte.is_ascii_digit()).then_some(())?;
    let said = said.trim();
    Some(Line {
        at,
        is_zoned,
        has_bad_time,
        level: level.to_owned(),
        logger: category.to_owned(),
        message: said.to_owned(),
        attributes: Vec::new(),
    })
}

fn is_category(word: &str) -> bool {
    (word == "A2A" || word.starts_with("A2A.")) && !word.contains(' ')
}
