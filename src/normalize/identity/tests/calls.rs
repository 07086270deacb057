//! Calls that several saw, and who made them.

use super::*;

#[test]
fn a_callers_name_comes_from_the_span_of_the_same_call() {
    let mut facts = Facts::default();
    call(
        "http://h:1/a2a",
        |common, _| {
            common.client_ref = "10.0.0.7".to_owned();
            common.span_id = "s1".to_owned();
        },
        &mut facts,
    );
    call(
        "http://h:1/a2a",
        |common, _| {
            common.client_ref = "orchestrator".to_owned();
            common.span_id = "s1".to_owned();
            common.observer = "client".to_owned();
        },
        &mut facts,
    );
    call("http://h:1/a2a", |common, _| common.client_ref = "10.0.0.8".to_owned(), &mut facts);
    resolve(&mut facts, &IdentitySettings::default());
    let clients: Vec<_> = facts.exchanges.iter().map(|row| row.common.client.as_str()).collect();
    assert_eq!(clients, ["orchestrator", "orchestrator", "10.0.0.8"]);
}

#[test]
fn unnamed_calls_from_an_address_are_those_of_the_only_name_known_there() {
    let mut facts = Facts::default();
    for (span, address, name) in [
        ("s1", "10.0.0.7", "a"),
        ("", "10.0.0.7", ""),
        ("s2", "10.0.0.8", "a"),
        ("s3", "10.0.0.8", "b"),
        ("", "10.0.0.8", ""),
    ] {
        call(
            "http://h:1/a2a",
            |common, _| {
                common.client_ref = address.to_owned();
                common.span_id = span.to_owned();
            },
            &mut facts,
        );
        if !name.is_empty() {
            call(
                "http://h:1/a2a",
                |common, _| {
                    common.client_ref = name.to_owned();
                    common.span_id = span.to_owned();
                    common.observer = "client".to_owned();
                },
                &mut facts,
            );
        }
    }
    resolve(&mut facts, &IdentitySettings::default());
    let clients: Vec<_> = facts.exchanges.iter().map(|row| row.common.client.as_str()).collect();
    assert_eq!(clients, ["a", "a", "a", "a", "a", "b", "b", "10.0.0.8"]);
}

#[test]
fn two_observers_of_one_span_share_a_call_and_two_requests_under_one_span_do_not() {
    let mut facts = Facts::default();
    for (span, observer, rpc) in [
        ("s1", "client", "1"),
        ("s1", "server", "1"),
        ("s2", "client", "1"),
        ("s2", "client", "2"),
        ("s2", "server", "2"),
    ] {
        call(
            "http://h:1/a2a",
            |common, own| {
                common.span_id = span.to_owned();
                common.observer = observer.to_owned();
                own.rpc_id = rpc.to_owned();
            },
            &mut facts,
        );
    }
    resolve(&mut facts, &IdentitySettings::default());
    let calls: Vec<_> = facts.exchanges.iter().map(|row| row.common.call_id.as_str()).collect();
    assert_eq!(calls[0], calls[1]);
    assert_ne!(calls[2], calls[3]);
    assert_eq!(calls[3], calls[4]);
}
