//! Edits of a line by pointer, also inside the JSON of its bodies, its headers and the events of its stream.
//!
//! A pointer is a JSON pointer into the exchange line with three doors: `/request/json/…` and `/response/json/…` lead into
//! the JSON of a body, `/request/header/NAME` and `/response/header/NAME` to a header, `/response/event/N/…` into the
//! n-th event of a stream. `/-` at the end of a list adds to it. Never creates what is above the last name.

use serde_json::{Value, json};

use super::Told;
use super::stream::Stream;

/// What to do at a pointer.
#[derive(Debug, Clone, PartialEq)]
pub enum Edit {
    /// Put a value in the place of one that is there.
    Set(Value),
    /// Put a value where none is.
    Add(Value),
    /// Take away what is there.
    Remove,
}

/// Edits a line at a pointer.
///
/// # Errors
/// When the pointer leads nowhere, or `Add` would overwrite.
pub fn edit(line: &mut Value, pointer: &str, edit: &Edit) -> Told<()> {
    let names = split(pointer)?;
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let told = match names.as_slice() {
        [side @ ("request" | "response"), "json", rest @ ..] => edit_body(line, side, rest, edit),
        [side @ ("request" | "response"), "header", name] => edit_header(line, side, name, edit),
        ["response", "event", n, rest @ ..] => edit_event(line, n, rest, edit),
        names => edit_value(line, names, edit),
    };
    told.map_err(|why| format!("{pointer}: {why}"))
}

/// The JSON of a body, if it is JSON.
pub fn body_json(line: &Value, side: &str) -> Option<Value> {
    serde_json::from_str(line.pointer(body_text(line, side))?.as_str()?).ok()
}

/// Where the text of a body stands: exchange lines and HAR entries have it in different members.
pub fn body_text(line: &Value, side: &str) -> &'static str {
    let places = match side {
        "request" => ["/request/body/text", "/request/postData/text"],
        _ => ["/response/body/text", "/response/content/text"],
    };
    if line.pointer(places[1]).is_some() { places[1] } else { places[0] }
}

fn split(pointer: &str) -> Told<Vec<String>> {
    let rest = pointer.strip_prefix('/').ok_or_else(|| format!("`{pointer}` is no pointer: it starts with /"))?;
    Ok(rest.split('/').map(|name| name.replace("~1", "/").replace("~0", "~")).collect())
}

fn edit_body(line: &mut Value, side: &str, names: &[&str], edit: &Edit) -> Told<()> {
    let mut body = body_json(line, side).ok_or("the body is no JSON")?;
    edit_value(&mut body, names, edit)?;
    if let Some(text) = line.pointer_mut(body_text(line, side)) {
        *text = Value::String(body.to_string());
    }
    let length = body.to_string().len().to_string();
    match edit_header(line, side, "content-length", &Edit::Set(json!(length))) {
        Ok(()) | Err(_) => Ok(()),
    }
}

fn edit_header(line: &mut Value, side: &str, name: &str, edit: &Edit) -> Told<()> {
    let headers = line.get_mut(side).and_then(|side| side.get_mut("headers")).and_then(Value::as_array_mut);
    let headers = headers.ok_or("the line has no headers")?;
    // Pairs in exchange lines, name and value in a HAR.
    let key = |pair: &Value| pair.get(0).or_else(|| pair.get("name")).and_then(Value::as_str).map(str::to_owned);
    let is_it = |pair: &Value| key(pair).is_some_and(|have| have.eq_ignore_ascii_case(name));
    let at = headers.iter().position(is_it);
    let named = headers.first().is_some_and(Value::is_object);
    match (edit, at) {
        (Edit::Set(value), Some(at)) if named => headers[at] = json!({"name": name, "value": value}),
        (Edit::Set(value), Some(at)) => headers[at] = json!([name, value]),
        (Edit::Add(value), None) if named => headers.push(json!({"name": name, "value": value})),
        (Edit::Add(value), None) => headers.push(json!([name, value])),
        (Edit::Remove, Some(at)) => drop(headers.remove(at)),
        (Edit::Add(_), Some(_)) => return Err("there is such a header already: use `set`".to_owned()),
        (_, None) => return Err("there is no such header".to_owned()),
    }
    Ok(())
}

fn edit_event(line: &mut Value, n: &str, names: &[&str], edit: &Edit) -> Told<()> {
    let mut stream = Stream::open(line)?;
    let number = || n.parse::<usize>().map_err(|_| format!("`{n}` is no event number"));
    match (n, names, edit) {
        ("-", [], Edit::Add(data)) => stream.push(data.clone()),
        (_, [], Edit::Remove) => stream.remove(number()?)?,
        _ => edit_value(stream.data(number()?)?, names, edit)?,
    }
    stream.close(line);
    Ok(())
}

fn edit_value(root: &mut Value, names: &[&str], edit: &Edit) -> Told<()> {
    let Some((last, above)) = names.split_last() else {
        return match edit {
            Edit::Set(value) => {
                *root = value.clone();
                Ok(())
            }
            _ => Err("a whole document can only be set".to_owned()),
        };
    };
    let mut parent = root;
    for name in above {
        parent = child(parent, name).ok_or_else(|| format!("there is no `{name}`"))?;
    }
    match (parent, edit) {
        (Value::Object(map), Edit::Add(value)) if !map.contains_key(*last) => {
            map.insert((*last).to_owned(), value.clone());
            Ok(())
        }
        (Value::Array(list), Edit::Add(value)) => {
            let at =
                if *last == "-" { list.len() } else { last.parse().map_err(|_| format!("`{last}` is no index"))? };
            if at > list.len() {
                return Err(format!("the list has {} items", list.len()));
            }
            list.insert(at, value.clone());
            Ok(())
        }
        (_, Edit::Add(_)) => Err(format!("`{last}` is there already, or its parent is no object: use `set`")),
        (parent, Edit::Set(value)) => {
            let place = child(parent, last).ok_or_else(|| format!("there is no `{last}`: use `add`"))?;
            if place == value {
                return Err("it has this value already".to_owned());
            }
            *place = value.clone();
            Ok(())
        }
        (Value::Object(map), Edit::Remove) => {
            map.remove(*last).map(drop).ok_or_else(|| format!("there is no `{last}`"))
        }
        (Value::Array(list), Edit::Remove) => {
            let at =
                last.parse().ok().filter(|at| *at < list.len()).ok_or_else(|| format!("there is no item `{last}`"))?;
            list.remove(at);
            Ok(())
        }
        (_, Edit::Remove) => Err(format!("there is no `{last}`")),
    }
}

fn child<'v>(value: &'v mut Value, name: &str) -> Option<&'v mut Value> {
    match value {
        Value::Object(map) => map.get_mut(name),
        Value::Array(list) => list.get_mut(name.parse::<usize>().ok()?),
        _ => None,
    }
}
