use std::collections::BTreeSet;

use super::*;
use crate::tables::{CardColumns, CardEndpointColumns, CardEndpointRow, CardRow, Common, ExchangeColumns, ExchangeRow};

fn common(agent_ref: &str) -> Common {
    Common { agent_ref: agent_ref.to_owned(), observer: "gateway".to_owned(), ..Common::default() }
}

fn card(url: &str, name: &str, endpoints: &[&str], facts: &mut Facts) {
    let body = format!("{url}{name}");
    let own = CardColumns {
        url: url.to_owned(),
        origin: "fetch".to_owned(),
        body_sha256: body.clone(),
        name: name.to_owned(),
        ..CardColumns::default()
    };
    facts.push_card(CardRow { common: common(url), own });
    for endpoint in endpoints {
        let own = CardEndpointColumns {
            body_sha256: body.clone(),
            url: (*endpoint).to_owned(),
            ..CardEndpointColumns::default()
        };
        facts.push_card_endpoint(CardEndpointRow { common: Common::default(), own });
    }
}

fn call(agent_ref: &str, with: impl FnOnce(&mut Common, &mut ExchangeColumns), facts: &mut Facts) {
    let (mut common, mut own) = (common(agent_ref), ExchangeColumns::default());
    with(&mut common, &mut own);
    facts.push_exchange(ExchangeRow { common, own });
}

fn agents(facts: &mut Facts) -> Vec<String> {
    resolve(facts, &IdentitySettings::default());
    facts.exchanges.iter().map(|row| row.common.agent.clone()).collect()
}

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

/// Who answers at places of which nothing else is known.
fn called(places: &[&str]) -> Vec<String> {
    let mut facts = Facts::default();
    places.iter().for_each(|place| call(place, |_, _| {}, &mut facts));
    agents(&mut facts)
}

#[test]
fn without_cards_each_path_of_a_host_is_an_agent_with_all_its_bindings() {
    let of_two = ["http://h/billing/a2a", "http://h/billing/rest/v1", "http://h/orders/a2a", "http://h/orders/v0.3"];
    assert_eq!(called(&of_two), ["h/billing", "h/billing", "h/orders", "h/orders"]);
    // One agent, by all that is called bindings and versions, and by spans that know the host alone.
    assert_eq!(called(&["http://h/", "http://h/a2a", "http://h/api/v1", "http://h/jsonrpc", "//h"]), ["h"; 5]);
    assert_eq!(called(&["http://h/billing/rpc", "//h"]), ["h/billing", "h/billing"]);
    assert_eq!(called(&["http://h/billing/rpc", "http://h/orders/rpc", "//h"]), ["h/billing", "h/orders", "h"]);
    // An event of somebody's own may name the whole url that was called.
    let whole = ["http://h/x/v1/message:send", "http://h/x/v1/tasks", "http://h/x/tasks/7:cancel", "http://h/x/rpc"];
    assert_eq!(called(&whole), ["h/x"; 4]);
    // No version and no binding: words of whoever runs it.
    assert_eq!(
        called(&["http://h/v1beta", "http://h/vendor", "http://h/resting"]),
        ["h/v1beta", "h/vendor", "h/resting"]
    );
}

#[test]
fn a_host_with_ids_in_its_paths_is_one_agent() {
    let places: Vec<String> = (0..600).map(|number| format!("http://h/users/{number}")).collect();
    let places: Vec<&str> = places.iter().map(String::as_str).collect();
    assert_eq!(BTreeSet::from_iter(called(&places)), BTreeSet::from(["h".to_owned()]));
    assert_eq!(BTreeSet::from_iter(called(&places[..500])).len(), 500);
}

#[test]
fn the_only_place_that_is_called_is_the_agent_of_the_only_card_that_was_looked_for() {
    let look = "http://h/.well-known/agent-card.json";
    assert_eq!(called(&[look, "http://h/agents/billing"]), ["h", "h"]);
    assert_eq!(called(&["http://h/billing/.well-known/agent-card.json", "http://h/rpc/billing"]), ["h/billing"; 2]);
    // Which of two it is cannot be told.
    assert_eq!(called(&[look, "http://h/billing", "http://h/orders"]), ["h", "h/billing", "h/orders"]);
    // A card with a body, whose interface a gateway rewrote.
    let mut facts = Facts::default();
    card("https://h/cards/a/.well-known/agent-card.json", "A", &["https://direct/a2a"], &mut facts);
    call("https://h/rpc/a", |_, _| {}, &mut facts);
    assert_eq!(agents(&mut facts), ["h/cards/a"]);
    call("https://h/cards/a/rpc", |_, _| {}, &mut facts);
    assert_eq!(agents(&mut facts), ["h/rpc/a", "h/cards/a"], "what the card's own agent answers at is known now");
}

#[test]
fn a_configured_path_parts_what_one_host_holds() {
    let agents = [("h/billing/a2a", "money"), ("h/orders", "shop"), ("h", "rest of it")];
    let agents = agents.map(|(place, name)| (place.to_owned(), name.to_owned()));
    let settings = IdentitySettings { agents: agents.into(), ..Default::default() };
    let mut facts = Facts::default();
    let places =
        ["http://h/billing/a2a", "http://h/billing/rest", "http://h/orders/deep/down", "http://h/other", "//h"];
    places.iter().for_each(|place| call(place, |_, _| {}, &mut facts));
    let names = |facts: &Facts| -> Vec<String> { facts.exchanges.iter().map(|row| row.common.agent.clone()).collect() };
    resolve(&mut facts, &settings);
    let expected = ["money", "money", "shop", "rest of it", "rest of it"];
    assert_eq!(names(&facts), expected);
    // Though one card is above them all.
    card("http://h/.well-known/agent-card.json", "Hub", &["http://h/other"], &mut facts);
    resolve(&mut facts, &settings);
    assert_eq!(names(&facts), ["money", "rest of it", "shop", "rest of it", "rest of it"]);
}

#[test]
fn a_users_reference_is_met_by_what_it_names_alone() {
    let mut facts = Facts::default();
    call("http://h/billing/a2a", |common, _| common.client_ref = "10.0.0.7".to_owned(), &mut facts);
    call("service:orders-svc", |_, _| {}, &mut facts);
    let name = |keys: &[&str]| keys.iter().map(|key| ((*key).to_owned(), "x".to_owned())).collect();
    let settings = IdentitySettings {
        agents: name(&["h", "h/billing", "h/bill", "h:1", "orders-svc", "orders"]),
        clients: name(&["10.0.0.7", "10.0.0.8"]),
    };
    let met = met(&facts, &settings);
    assert_eq!(Vec::from_iter(met.agents), ["h", "h/billing", "orders-svc"]);
    assert_eq!(Vec::from_iter(met.clients), ["10.0.0.7"]);
    let pasted = as_place("https://H/billing/.well-known/agent-card.json");
    assert_eq!((pasted.as_deref(), as_place("Summary Agent")), (Some("h/billing"), None));
}

#[test]
fn a_configured_name_wins_for_every_place_of_the_agent() {
    let mut facts = Facts::default();
    card("http://h:1/.well-known/agent-card.json", "A", &["http://h:2/a2a"], &mut facts);
    call("http://h:2/a2a", |_, _| {}, &mut facts);
    let settings = IdentitySettings { agents: [("h:1".to_owned(), "billing".to_owned())].into(), ..Default::default() };
    resolve(&mut facts, &settings);
    assert_eq!(facts.exchanges[0].common.agent, "billing");
}

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
