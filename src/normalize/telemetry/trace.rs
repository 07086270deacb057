//! Which spans are one call, as one side saw it.
//!
//! In: nodes in the order of traces. Out: [`Call`]s. A caller's SDK span, the transport's below it and the HTTP client's
//! below that are one call seen by the client; the server's HTTP span with dispatcher and handler under it is the same
//! call seen by the server. Links are parents, and time where a parent was not exported. Never joins two services.

use std::collections::HashMap;

use super::node::{Node, Side};

/// Steps up a trace that are followed; the official SDK needs 9.
const MAX_STEPS: usize = 64;
/// Calls of a trace that are looked at, back or forth in time, for the one that a span without its parent belongs to.
const MAX_CALLS_IN_TIME: usize = 256;

/// A call as one side saw it.
#[derive(Debug, Clone, Default)]
pub(super) struct Call {
    /// Its spans, as indices of nodes; the one that names it comes first: that on the wire, else the outermost.
    pub(super) nodes: Vec<usize>,
    /// Whether the first is a request on the wire.
    pub(super) on_wire: bool,
    /// Spans around it that say the operation, but stand for a later attempt.
    pub(super) around: Vec<usize>,
    /// The same call from the other side, as an index of calls.
    pub(super) counterpart: Option<usize>,
}

/// The calls of all traces.
pub(super) fn calls(nodes: &[Node]) -> Vec<Call> {
    let mut calls = Vec::new();
    let mut start = 0;
    while let Some(first) = nodes.get(start) {
        let rest = nodes.get(start..).unwrap_or_default();
        let length = match first.seen.trace_id.as_str() {
            // Spans without a trace have nothing to do with each other.
            "" => 1,
            trace_id => rest.iter().take_while(|node| node.seen.trace_id == trace_id).count(),
        };
        Trace::new(nodes, start, start + length).link(&mut calls);
        start += length;
    }
    calls
}

struct Trace<'a> {
    nodes: &'a [Node],
    range: std::ops::Range<usize>,
    by_id: HashMap<&'a str, Vec<usize>>,
    /// Calls of this trace.
    calls: Vec<Call>,
    /// Calls on the wire in the order of their start.
    in_time: Vec<usize>,
    /// The call, as an index of `calls`, that a node belongs to.
    owner: HashMap<usize, usize>,
}

impl<'a> Trace<'a> {
    fn new(nodes: &'a [Node], start: usize, end: usize) -> Self {
        let mut by_id: HashMap<&str, Vec<usize>> = HashMap::new();
        for (index, node) in nodes.iter().enumerate().take(end).skip(start) {
            by_id.entry(node.seen.span_id.as_str()).or_default().push(index);
        }
        Self { nodes, range: start..end, by_id, calls: Vec::new(), in_time: Vec::new(), owner: HashMap::new() }
    }

    fn link(mut self, calls: &mut Vec<Call>) {
        self.open_wire_calls();
        self.absorb_repeated_servers();
        // Calls were opened in the order of nodes, which is that of time.
        self.in_time =
            (0..self.calls.len()).filter(|i| self.calls.get(*i).is_some_and(|c| !c.nodes.is_empty())).collect();
        self.attach_callers();
        self.attach_rest();
        self.pair();
        let base = calls.len();
        calls.extend(self.calls.into_iter().map(|mut call| {
            call.counterpart = call.counterpart.map(|index| index + base);
            call
        }));
    }

    fn node(&self, index: usize) -> Option<&'a Node> {
        self.nodes.get(index)
    }

    /// The node that a node's parent id names, seen from a side: of two ends with one id, the other one.
    fn parent(&self, index: usize) -> Option<usize> {
        let node = self.node(index)?;
        let candidates = self.by_id.get(node.parent.as_str()).filter(|_| !node.parent.is_empty())?;
        candidates.iter().copied().find(|candidate| *candidate != index)
    }

    fn open(&mut self, first: usize, on_wire: bool) -> usize {
        self.calls.push(Call { nodes: vec![first], on_wire, ..Call::default() });
        self.owner.insert(first, self.calls.len() - 1);
        self.calls.len() - 1
    }

    fn give(&mut self, node: usize, call: usize) {
        self.owner.insert(node, call);
        if let Some(call) = self.calls.get_mut(call) {
            call.nodes.push(node);
        }
    }

    fn open_wire_calls(&mut self) {
        let wires: Vec<usize> =
            self.range.clone().filter(|i| self.node(*i).is_some_and(|n| n.wire.is_some())).collect();
        for index in wires {
            self.open(index, true);
        }
    }

    /// A framework that writes its own server span beside the instrumentation's: one call. The span that knows the
    /// caller's address stays.
    fn absorb_repeated_servers(&mut self) {
        let mut kept: HashMap<(&str, &str, &str, &str), usize> = HashMap::new();
        let mut servers: Vec<usize> = self.owner.keys().copied().collect();
        servers.retain(|index| self.node(*index).is_some_and(|node| node.side == Side::Server));
        servers.sort_by_key(|index| {
            let knows_caller = self.node(*index).and_then(Node::http).is_some_and(|w| !w.client_address.is_empty());
            (!knows_caller, *index)
        });
        for index in servers {
            let Some((node, wire)) = self.node(index).and_then(|node| Some((node, node.http()?))) else { continue };
            let outer = self.climb(index, |node| node.side == Side::Server).into_iter().find(|above| {
                self.node(*above).and_then(Node::http).is_some_and(|w| w.method == wire.method && w.path == wire.path)
            });
            let key = (node.seen.service.as_str(), node.parent.as_str(), wire.method.as_str(), wire.path.as_str());
            let beside = if node.parent.is_empty() { None } else { kept.get(&key).copied() };
            match outer.and_then(|above| self.owner.get(&above).copied()).or(beside) {
                Some(call) => self.merge(index, call),
                None => {
                    if let Some(call) = self.owner.get(&index) {
                        kept.insert(key, *call);
                    }
                }
            }
        }
    }

    /// Makes a node that had its own call part of another.
    fn merge(&mut self, index: usize, into: usize) {
        if let Some(old) = self.owner.get(&index).copied().filter(|old| *old != into) {
            if let Some(call) = self.calls.get_mut(old) {
                call.nodes.clear();
            }
            self.give(index, into);
        }
    }

    /// Nodes above one, of its service and of the kind wanted; ends where a parent is of another kind or unknown.
    fn climb(&self, from: usize, wanted: impl Fn(&Node) -> bool) -> Vec<usize> {
        let mut above = Vec::new();
        let service = self.node(from).map(|node| node.seen.service.as_str());
        let mut at = from;
        while let Some(parent) = self.parent(at).filter(|_| above.len() < MAX_STEPS) {
            let Some(node) = self.node(parent) else { break };
            if Some(node.seen.service.as_str()) != service || !wanted(node) {
                break;
            }
            above.push(parent);
            at = parent;
        }
        above
    }

    /// Spans of the client above a request on the wire are about that request: about the last one, if there are several.
    fn attach_callers(&mut self) {
        let mut below: HashMap<usize, Vec<usize>> = HashMap::new();
        for (call, first) in self.calls.iter().enumerate().filter_map(|(i, call)| Some((i, *call.nodes.first()?))) {
            if self.node(first).is_some_and(|node| node.side == Side::Client) {
                for above in self.climb(first, |node| node.side == Side::Client && node.wire.is_none()) {
                    below.entry(above).or_default().push(call);
                }
            }
        }
        let mut callers: Vec<(usize, Vec<usize>)> = below.into_iter().collect();
        callers.sort();
        for (node, mut requests) in callers {
            requests.sort_by_key(|call| self.calls.get(*call).and_then(|call| call.nodes.first().copied()));
            if let Some(last) = requests.pop() {
                self.give(node, last);
            }
            for earlier in requests {
                if let Some(call) = self.calls.get_mut(earlier) {
                    call.around.push(node);
                }
            }
        }
    }

    /// Every other node that is about a call: to the call above it, else to the one in whose time it began, else alone.
    fn attach_rest(&mut self) {
        let rest: Vec<usize> = self.range.clone().filter(|index| !self.owner.contains_key(index)).collect();
        for index in rest {
            let Some(node) = self.node(index) else { continue };
            match node.side {
                Side::Gateway => {
                    self.open(index, false);
                }
                Side::Client | Side::Server if node.sdk || node.statement.is_some() => {
                    let above = self.climb(index, |above| above.side == node.side);
                    let owned = above.iter().find_map(|above| self.owner.get(above).copied());
                    match owned.or_else(|| self.around_in_time(node)) {
                        Some(call) => self.give(index, call),
                        None => {
                            self.open(index, false);
                        }
                    }
                }
                _ => {}
            }
        }
    }

    /// The call of the same service and side in whose time a node began or, on the client's side, which began in its.
    fn around_in_time(&self, node: &Node) -> Option<usize> {
        // Nodes are in the order of time, so the place of the node among the calls is found by their first node.
        let starts = |call: &usize| self.calls.get(*call).and_then(|call| self.node(*call.nodes.first()?));
        let fits = |call: &usize, within: &dyn Fn(&Node) -> bool| {
            starts(call).is_some_and(|wire| {
                wire.wire.is_some() && wire.side == node.side && wire.seen.service == node.seen.service && within(wire)
            })
        };
        let calls = self.in_time.as_slice();
        let later = calls.partition_point(|call| starts(call).is_some_and(|wire| wire.seen.at <= node.seen.at));
        if node.side == Side::Server {
            // The innermost: the one that began last.
            let before = calls.get(..later).unwrap_or_default().iter().rev().take(MAX_CALLS_IN_TIME);
            return before.copied().find(|call| fits(call, &|wire| node.seen.at <= wire.end()));
        }
        let earlier = calls.partition_point(|call| starts(call).is_some_and(|wire| wire.seen.at < node.seen.at));
        let after = calls.get(earlier..).unwrap_or_default().iter().take(MAX_CALLS_IN_TIME);
        let mut fitting = after.copied().filter(|call| fits(call, &|wire| wire.seen.at <= node.end()));
        // Calls made at once cannot be told apart by time.
        let only = fitting.next();
        only.filter(|_| fitting.next().is_none())
    }

    /// Pairs what a server saw with what its caller saw: the parent of the server's span is a span of the caller's.
    fn pair(&mut self) {
        for index in 0..self.calls.len() {
            let Some(first) = self.calls.get(index).and_then(|call| call.nodes.first().copied()) else { continue };
            if self.node(first).is_none_or(|node| node.side == Side::Client) {
                continue;
            }
            let caller = self.parent(first).filter(|p| self.node(*p).is_some_and(|node| node.side == Side::Client));
            let Some(caller) = caller.and_then(|parent| self.owner.get(&parent).copied()) else { continue };
            if let Some(call) = self.calls.get_mut(index) {
                call.counterpart = Some(caller);
            }
            let is_server = self.node(first).is_some_and(|node| node.side == Side::Server);
            if let Some(call) = self.calls.get_mut(caller).filter(|_| is_server) {
                call.counterpart = call.counterpart.or(Some(index));
            }
        }
    }
}
