//! Agents behind gateways and sidecars.

use super::*;

/// A call that a gateway passed on to an address.
fn passed_on(agent_ref: &str, behind: &str, facts: &mut Facts) {
    call(agent_ref, |_, own| own.server_address = behind.to_owned(), facts);
}

/// A call as the agent itself saw it.
fn direct(agent_ref: &str, facts: &mut Facts) {
    call(agent_ref, |common, _| common.observer = "server".to_owned(), facts);
}

#[test]
fn an_agent_seen_at_its_own_address_is_the_one_that_a_gateway_passes_calls_on_to() {
    let mut facts = Facts::default();
    // As agentgateway rewrites it, the card names the gateway alone.
    card("http://gw/summary/.well-known/agent-card.json", "A", &["http://gw/summary/a2a"], &mut facts);
    passed_on("http://gw/summary/a2a", "10.0.0.7:9999", &mut facts);
    direct("http://10.0.0.7:9999/a2a", &mut facts);
    assert_eq!(agents(&mut facts), ["gw/summary", "gw/summary"]);
    // Its own card, fetched at its own address, has the other interface.
    card("http://10.0.0.7:9999/.well-known/agent-card.json", "A", &["http://10.0.0.7:9999/a2a"], &mut facts);
    assert_eq!(agents(&mut facts), ["10.0.0.7:9999", "10.0.0.7:9999"]);
}

#[test]
fn agents_behind_one_gateway_stay_apart_with_and_without_cards() {
    let mut facts = Facts::default();
    for (path, behind) in [("/a", "10.0.0.1:8000"), ("/b", "10.0.0.2:8000"), ("/b", "10.0.0.3:8000")] {
        passed_on(&format!("http://gw{path}/a2a"), behind, &mut facts);
        direct(&format!("http://{behind}/a2a"), &mut facts);
    }
    let by_path = ["gw/a", "gw/a", "gw/b", "gw/b", "gw/b", "gw/b"];
    assert_eq!(agents(&mut facts), by_path, "replicas of one agent are that agent");
    card("http://gw/a/.well-known/agent-card.json", "A", &["http://gw/a/a2a"], &mut facts);
    card("http://gw/b/.well-known/agent-card.json", "B", &["http://gw/b/a2a"], &mut facts);
    assert_eq!(agents(&mut facts), by_path);
}

#[test]
fn a_gateway_before_one_agent_keeps_the_name_that_it_has_without_routes() {
    let mut facts = Facts::default();
    passed_on("http://gw/summary/a2a", "10.0.0.1:8000", &mut facts);
    passed_on("http://gw/summary/rest", "10.0.0.1:8000", &mut facts);
    passed_on("http://gw/summary/a2a", "10.0.0.2:8000", &mut facts);
    direct("http://10.0.0.2:8000/a2a", &mut facts);
    assert_eq!(agents(&mut facts), ["gw/summary"; 4]);
    facts.exchanges.iter_mut().for_each(|row| row.own.server_address.clear());
    assert_eq!(agents(&mut facts)[..3], ["gw/summary"; 3]);
}

/// A gateway's agents by the places called, each with its binding and the address behind it.
fn behind_gateway(calls: &[(&str, &str, &str)]) -> Vec<String> {
    let mut facts = Facts::default();
    for (place, binding, behind) in calls {
        call(
            place,
            |_, own| {
                own.server_address = (*behind).to_owned();
                own.binding = (*binding).to_owned();
            },
            &mut facts,
        );
    }
    agents(&mut facts)
}

#[test]
fn two_bindings_of_an_agent_at_a_gateway_are_one_without_its_card() {
    let other = ("http://gw/other", "jsonrpc", "10.0.0.9:80");
    for (rpc, rest, agent) in [
        ("http://gw/a", "http://gw/a/rest/v1", "gw/a"),
        ("http://gw/a", "http://gw/a/v1", "gw/a"),
        ("http://gw/a/jsonrpc", "http://gw/a/rest", "gw/a"),
        ("http://gw/a/a2a", "http://gw/a/rest", "gw/a"),
    ] {
        let calls = [(rpc, "jsonrpc", "10.0.0.1:80"), (rest, "http+json", "10.0.0.2:80"), other];
        assert_eq!(behind_gateway(&calls), [agent, agent, "gw/other"], "{rest}");
        assert_eq!(behind_gateway(&calls[..2]), [agent, agent], "{rest}");
    }
}

#[test]
fn agents_below_one_another_at_a_gateway_stay_two() {
    for [(one, binding), (other, other_binding)] in [
        [("http://gw/a", "jsonrpc"), ("http://gw/a/b", "jsonrpc")],
        [("http://gw/a", "jsonrpc"), ("http://gw/a/b", "http+json")],
        [("http://gw/a", "jsonrpc"), ("http://gw/a/b/v1", "http+json")],
        [("http://gw/a", "http+json"), ("http://gw/a/b", "jsonrpc")],
        // A binding that is there twice is of two agents, whatever its path.
        [("http://gw/a", "jsonrpc"), ("http://gw/a/rest", "jsonrpc")],
        [("http://gw/a/v1", "http+json"), ("http://gw/a/rest", "http+json")],
    ] {
        let calls = [(one, binding, "10.0.0.1:80"), (other, other_binding, "10.0.0.2:80")];
        let places = [one, other].map(|place| place.trim_start_matches("http://").trim_end_matches("/b/v1"));
        let of_other = if other.ends_with("/b/v1") { "gw/a/b" } else { places[1] };
        assert_eq!(behind_gateway(&calls), [places[0], of_other]);
    }
    let three = [
        ("http://gw/a", "jsonrpc", "10.0.0.1:80"),
        ("http://gw/a/rest", "http+json", "10.0.0.2:80"),
        ("http://gw/a/v1", "http+json", "10.0.0.3:80"),
    ];
    assert_eq!(behind_gateway(&three), ["gw/a", "gw/a/rest", "gw/a/v1"], "which of them it is cannot be told");
}

#[test]
fn an_address_behind_two_agents_or_before_two_is_neither() {
    let mut facts = Facts::default();
    card("http://gw/a/.well-known/agent-card.json", "A", &["http://gw/a/a2a"], &mut facts);
    card("http://gw/b/.well-known/agent-card.json", "B", &["http://gw/b/a2a"], &mut facts);
    passed_on("http://gw/a/a2a", "10.0.0.1:8000", &mut facts);
    passed_on("http://gw/b/a2a", "10.0.0.1:8000", &mut facts);
    direct("http://10.0.0.1:8000/a2a", &mut facts);
    assert_eq!(agents(&mut facts), ["gw/a", "gw/b", "10.0.0.1:8000"]);
    let mut facts = Facts::default();
    card("http://gw/a/.well-known/agent-card.json", "A", &["http://gw/a/a2a"], &mut facts);
    for path in ["x", "y"] {
        card(&format!("http://10.0.0.1:8000/{path}/.well-known/agent-card.json"), path, &[], &mut facts);
    }
    passed_on("http://gw/a/a2a", "10.0.0.1:8000", &mut facts);
    direct("http://10.0.0.1:8000/x/a2a", &mut facts);
    assert_eq!(agents(&mut facts), ["gw/a", "10.0.0.1:8000/x"]);
}

#[test]
fn a_sidecars_loopback_address_is_nobody_elses() {
    let mut facts = Facts::default();
    passed_on("http://summary.agents/a2a", "127.0.0.1:8080", &mut facts);
    direct("http://127.0.0.1:8080/a2a", &mut facts);
    assert_eq!(agents(&mut facts), ["summary.agents", "127.0.0.1:8080"]);
    // Only gateways know what is behind them.
    let mut facts = Facts::default();
    call(
        "http://a.example/a2a",
        |common, own| {
            common.observer = "client".to_owned();
            own.server_address = "10.0.0.1:8000".to_owned();
        },
        &mut facts,
    );
    direct("http://10.0.0.1:8000/a2a", &mut facts);
    assert_eq!(agents(&mut facts), ["a.example", "10.0.0.1:8000"]);
}

#[test]
fn a_call_that_its_agent_saw_at_another_place_joins_the_two() {
    let seen = |observer: &'static str, span: &'static str| {
        move |common: &mut Common, _: &mut ExchangeColumns| {
            common.observer = observer.to_owned();
            common.span_id = span.to_owned();
        }
    };
    let mut facts = Facts::default();
    card("http://gw/summary/.well-known/agent-card.json", "A", &["http://gw/summary/a2a"], &mut facts);
    call("http://gw/summary/a2a", seen("gateway", "s1"), &mut facts);
    call("http://10.0.0.7:9999/a2a", seen("server", "s1"), &mut facts);
    direct("http://10.0.0.7:9999/rest", &mut facts);
    assert_eq!(agents(&mut facts), ["gw/summary", "gw/summary", "gw/summary"]);
    // One span around calls of two agents: what the second saw says nothing of the first.
    let mut facts = Facts::default();
    for place in ["http://a.example/a2a", "http://b.example/a2a"] {
        call(place, seen("gateway", "s1"), &mut facts);
    }
    call("http://10.0.0.7:9999/a2a", seen("server", "s1"), &mut facts);
    assert_eq!(agents(&mut facts), ["a.example", "b.example", "10.0.0.7:9999"]);
}
