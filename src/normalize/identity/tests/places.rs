//! Agents told by the paths of a host, and by what a user names.

use super::*;

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
