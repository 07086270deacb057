//! Who is who, by what was seen.

mod calls;
mod cards;
mod gateways;
mod places;

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
