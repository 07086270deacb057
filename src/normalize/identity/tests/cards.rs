//! Agents told by their cards, traces and names.

use super::*;

#[test]
fn urls_below_a_cards_base_and_its_interfaces_are_one_agent() {
    let mut facts = Facts::default();
    card("http://h:1/.well-known/agent-card.json", "A", &["http://h:1/a2a", "h:13"], &mut facts);
    call("http://h:1/a2a", |_, _| {}, &mut facts);
    call("http://h:1/rest/message:send", |_, _| {}, &mut facts);
    call("//h:13", |_, _| {}, &mut facts);
    assert_eq!(agents(&mut facts), ["h:1", "h:1", "h:1"]);
}

#[test]
fn agents_behind_one_gateway_are_told_apart_by_path() {
    let mut facts = Facts::default();
    card("https://gw/a/.well-known/agent-card.json", "A", &["https://gw/a/rpc"], &mut facts);
    card("https://gw/b/.well-known/agent-card.json", "B", &["https://gw/b/rpc"], &mut facts);
    call("https://gw/a/rpc", |_, _| {}, &mut facts);
    call("https://gw/b/rpc", |_, _| {}, &mut facts);
    call("https://gw/ab/rpc", |_, _| {}, &mut facts);
    assert_eq!(agents(&mut facts), ["gw/a", "gw/b", "gw/ab"]);
}

#[test]
fn one_agent_seen_directly_and_through_a_rewriting_gateway_is_one() {
    let mut facts = Facts::default();
    card("https://gw/a/.well-known/agent-card.json", "A", &["https://direct/a2a"], &mut facts);
    card("https://direct/.well-known/agent-card.json", "A", &["https://direct/a2a"], &mut facts);
    call("https://gw/a", |_, _| {}, &mut facts);
    call("https://direct/a2a", |_, _| {}, &mut facts);
    assert_eq!(agents(&mut facts), ["direct", "direct"]);
}

#[test]
fn different_agents_that_advertise_the_same_bogus_address_stay_apart() {
    let mut facts = Facts::default();
    card("https://one/.well-known/agent-card.json", "One", &["http://localhost:8000/"], &mut facts);
    card("https://two/.well-known/agent-card.json", "Two", &["http://localhost:8000/"], &mut facts);
    call("https://one/a2a", |_, _| {}, &mut facts);
    call("https://two/a2a", |_, _| {}, &mut facts);
    assert_eq!(agents(&mut facts), ["one", "two"]);
}

#[test]
fn nobody_takes_an_agents_name_by_advertising_its_address() {
    let mut facts = Facts::default();
    card("https://good/.well-known/agent-card.json", "A", &["https://good/a2a"], &mut facts);
    card("https://a-evil/.well-known/agent-card.json", "A", &["https://good/a2a"], &mut facts);
    call("https://good/a2a", |_, _| {}, &mut facts);
    call("https://a-evil/a2a", |_, _| {}, &mut facts);
    assert_eq!(agents(&mut facts), ["good", "good"], "a card of that name is shown in two views");
    // Nor does a stranger part the agent from the gateway before it.
    card("https://gw/a/.well-known/agent-card.json", "A", &["https://good/a2a"], &mut facts);
    card("https://b-evil/.well-known/agent-card.json", "B", &["https://good/a2a"], &mut facts);
    call("https://gw/a", |_, _| {}, &mut facts);
    call("https://b-evil/a2a", |_, _| {}, &mut facts);
    assert_eq!(agents(&mut facts), ["good", "good", "good", "b-evil"]);
}

#[test]
fn machines_that_each_call_their_agent_localhost_stay_apart_whatever_its_name() {
    let mut facts = Facts::default();
    card("https://one/.well-known/agent-card.json", "A", &["http://localhost:8000/"], &mut facts);
    call("https://one/a2a", |_, _| {}, &mut facts);
    call("http://localhost:8000/a2a", |_, _| {}, &mut facts);
    assert_eq!(agents(&mut facts), ["one", "one"]);
    card("https://two/.well-known/agent-card.json", "A", &["http://localhost:8000/"], &mut facts);
    call("https://two/a2a", |_, _| {}, &mut facts);
    assert_eq!(agents(&mut facts), ["one", "localhost:8000", "two"]);
}

#[test]
fn a_record_without_reference_takes_the_agent_of_its_trace_then_of_its_task() {
    let mut facts = Facts::default();
    call(
        "http://h:1/a2a",
        |common, own| {
            common.trace_id = "t1".to_owned();
            own.task_id = "k1".to_owned();
        },
        &mut facts,
    );
    call("", |common, _| common.trace_id = "t1".to_owned(), &mut facts);
    call("", |_, own| own.task_id = "k1".to_owned(), &mut facts);
    call("", |_, own| own.task_id = "other".to_owned(), &mut facts);
    assert_eq!(agents(&mut facts), ["h:1", "h:1", "h:1", ""]);
}

#[test]
fn a_trace_through_two_agents_gives_its_agent_to_nobody() {
    let mut facts = Facts::default();
    call("http://h:1/a2a", |common, _| common.trace_id = "t1".to_owned(), &mut facts);
    call("http://h:2/a2a", |common, _| common.trace_id = "t1".to_owned(), &mut facts);
    call("", |common, _| common.trace_id = "t1".to_owned(), &mut facts);
    assert_eq!(agents(&mut facts)[2], "");
}

#[test]
fn a_service_is_the_agent_that_its_calls_reach() {
    let mut facts = Facts::default();
    call("http://h:1/a2a", |common, _| common.span_id = "s1".to_owned(), &mut facts);
    call("service:summary", |common, _| common.call_id = "span:s1".to_owned(), &mut facts);
    call("service:summary", |_, _| {}, &mut facts);
    call("service:lonely", |_, _| {}, &mut facts);
    assert_eq!(agents(&mut facts), ["h:1", "h:1", "h:1", "lonely"]);
}

#[test]
fn an_agent_that_calls_itself_by_name_is_the_one_that_its_calls_reach() {
    let mut facts = Facts::default();
    call("//h:1", |common, _| common.span_id = "s1".to_owned(), &mut facts);
    call("name:Summary Agent", |common, _| common.call_id = "span:s1".to_owned(), &mut facts);
    call("name:Summary Agent", |_, _| {}, &mut facts);
    call("name:Lonely", |_, _| {}, &mut facts);
    assert_eq!(agents(&mut facts), ["h:1", "h:1", "h:1", "Lonely"]);
}

#[test]
fn an_agent_is_not_the_one_that_it_calls_in_the_same_trace() {
    let mut facts = Facts::default();
    call("name:Caller", |common, _| common.trace_id = "t1".to_owned(), &mut facts);
    call("http://h:1/a2a", |common, _| common.trace_id = "t1".to_owned(), &mut facts);
    assert_eq!(agents(&mut facts), ["Caller", "h:1"]);
}

#[test]
fn a_service_bears_the_name_of_its_card_as_services_are_spelled() {
    let mut facts = Facts::default();
    card("http://h:1/.well-known/agent-card.json", "Summary Agent", &[], &mut facts);
    call("service:summary-agent", |_, _| {}, &mut facts);
    call("service:summary", |_, _| {}, &mut facts);
    assert_eq!(agents(&mut facts), ["h:1", "summary"]);
    card("http://h:2/.well-known/agent-card.json", "summary agent", &[], &mut facts);
    assert_eq!(agents(&mut facts)[0], "summary-agent");
}
