//! The largest flow, and with it the smallest cut, by two trees that are grown again and again
//! (Boykov and Kolmogorov 2004).
//!
//! A network has arcs with capacities between nodes, and at each node an excess: positive if the
//! source has capacity left to it, negative if it has some left to the sink (what both have, flows at
//! once). A tree of arcs with capacity left grows from the nodes that the source feeds, another from
//! those that drain into the sink:
//!
//! - *growth*: an active node takes free neighbours into its tree, until the trees meet;
//! - *augmentation*: the path found carries as much as its narrowest arc; arcs that are full now leave
//!   orphans;
//! - *adoption*: an orphan looks for another parent in its tree, one that leads to the terminal and is
//!   nearest to it, or becomes free, and its children orphans.
//!
//! Distances to the terminals are remembered with the time when they were true, so that most searches
//! for them are short. Where neither tree can grow, its border is a smallest cut. Capacities are whole
//! numbers, so all of it ends, and the cut is exactly smallest.

use std::collections::VecDeque;

/// A whole number that capacities are counted in.
pub(crate) trait Capacity:
    Copy + Ord + Default + std::ops::AddAssign + std::ops::SubAssign + std::ops::Neg<Output = Self>
{
}
impl Capacity for i32 {}
impl Capacity for i64 {}

/// Where arcs lead. Every arc has a reverse.
pub(crate) trait Network {
    /// Number of nodes.
    fn nodes(&self) -> usize;
    /// The arcs that leave a node.
    fn arcs(&self, node: usize) -> std::ops::Range<usize>;
    /// The node that an arc, which leaves `node`, leads to, and the arc that leads back.
    fn follow(&self, node: usize, arc: usize) -> (usize, usize);
}

/// No arc: a node that is free.
const NONE: u32 = u32::MAX;
/// No arc: a node that the terminal itself feeds.
const TERMINAL: u32 = u32::MAX - 1;
/// No arc any more.
const ORPHAN: u32 = u32::MAX - 2;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Tree {
    Source,
    Sink,
}

#[derive(Clone, Copy)]
struct Node<C> {
    /// The arc to the parent.
    parent: u32,
    /// When the distance was true, and the distance to the terminal.
    time: u32,
    distance: u32,
    excess: C,
    tree: Tree,
    active: bool,
}

/// Finds the largest flow; capacities are those that are left afterwards. `true` is the side of the
/// source.
pub(crate) fn smallest_cut<C: Capacity, N: Network>(
    network: &N,
    excess: impl Iterator<Item = C>,
    capacity: &mut [C],
) -> Vec<bool> {
    let zero = C::default();
    let mut active = VecDeque::new();
    let nodes: Vec<Node<C>> = excess
        .enumerate()
        .map(|(i, excess)| {
            let fed = excess != zero;
            if fed {
                active.push_back(i as u32);
            }
            Node {
                parent: if fed { TERMINAL } else { NONE },
                time: 0,
                distance: 1,
                excess,
                tree: if excess > zero { Tree::Source } else { Tree::Sink },
                active: fed,
            }
        })
        .collect();
    assert_eq!(nodes.len(), network.nodes(), "an excess for each node");
    let mut work = Work { network, nodes, capacity, active, orphans: VecDeque::new(), time: 0 };
    while let Some(node) = work.active.pop_front() {
        work.nodes[node as usize].active = false;
        work.grow_from(node as usize);
    }
    work.nodes.iter().map(|n| n.parent != NONE && n.tree == Tree::Source).collect()
}

struct Work<'a, C, N> {
    network: &'a N,
    nodes: Vec<Node<C>>,
    capacity: &'a mut [C],
    active: VecDeque<u32>,
    orphans: VecDeque<u32>,
    time: u32,
}

impl<C: Capacity, N: Network> Work<'_, C, N> {
    /// Grows from one node until it has nothing more to give.
    fn grow_from(&mut self, node: usize) {
        let arcs = self.network.arcs(node);
        let mut arc = arcs.start;
        while arc < arcs.end {
            let Node { parent, tree, time, distance, .. } = self.nodes[node];
            if parent == NONE {
                return;
            }
            let (to, back) = self.network.follow(node, arc);
            let open = match tree {
                Tree::Source => self.capacity[arc],
                Tree::Sink => self.capacity[back],
            };
            if open <= C::default() {
                arc += 1;
                continue;
            }
            let other = &mut self.nodes[to];
            if other.parent == NONE {
                other.parent = back as u32;
                other.tree = tree;
                other.time = time;
                other.distance = distance + 1;
                self.activate(to);
                arc += 1;
            } else if other.tree != tree {
                match tree {
                    Tree::Source => self.augment(node, arc, to, back),
                    Tree::Sink => self.augment(to, back, node, arc),
                }
                // The same arc may carry more.
            } else {
                if other.time <= time && other.distance > distance {
                    // A shorter way to the terminal.
                    other.parent = back as u32;
                    other.time = time;
                    other.distance = distance + 1;
                }
                arc += 1;
            }
        }
    }

    fn activate(&mut self, node: usize) {
        if !std::mem::replace(&mut self.nodes[node].active, true) {
            self.active.push_back(node as u32);
        }
    }

    /// Sends what fits along the path through an arc from the source's tree into the sink's.
    fn augment(&mut self, from: usize, arc: usize, to: usize, back: usize) {
        let mut flow = self.capacity[arc];
        let mut at = from;
        loop {
            let Node { parent, excess, .. } = self.nodes[at];
            if parent == TERMINAL {
                flow = flow.min(excess);
                break;
            }
            let (up, down) = self.network.follow(at, parent as usize);
            flow = flow.min(self.capacity[down]);
            at = up;
        }
        at = to;
        loop {
            let Node { parent, excess, .. } = self.nodes[at];
            if parent == TERMINAL {
                flow = flow.min(-excess);
                break;
            }
            flow = flow.min(self.capacity[parent as usize]);
            at = self.network.follow(at, parent as usize).0;
        }

        self.capacity[arc] -= flow;
        self.capacity[back] += flow;
        let zero = C::default();
        at = from;
        loop {
            let parent = self.nodes[at].parent;
            if parent == TERMINAL {
                self.nodes[at].excess -= flow;
                if self.nodes[at].excess == zero {
                    self.orphan_first(at);
                }
                break;
            }
            let (up, down) = self.network.follow(at, parent as usize);
            self.capacity[down] -= flow;
            self.capacity[parent as usize] += flow;
            if self.capacity[down] == zero {
                self.orphan_first(at);
            }
            at = up;
        }
        at = to;
        loop {
            let parent = self.nodes[at].parent;
            if parent == TERMINAL {
                self.nodes[at].excess += flow;
                if self.nodes[at].excess == zero {
                    self.orphan_first(at);
                }
                break;
            }
            let (up, down) = self.network.follow(at, parent as usize);
            self.capacity[parent as usize] -= flow;
            self.capacity[down] += flow;
            if self.capacity[parent as usize] == zero {
                self.orphan_first(at);
            }
            at = up;
        }

        self.time += 1;
        while let Some(orphan) = self.orphans.pop_front() {
            self.adopt(orphan as usize);
        }
    }

    /// Those nearest to the terminal are looked after first.
    fn orphan_first(&mut self, node: usize) {
        self.nodes[node].parent = ORPHAN;
        self.orphans.push_front(node as u32);
    }

    /// Finds another parent for an orphan, or sets it and what hangs on it free.
    fn adopt(&mut self, orphan: usize) {
        let tree = self.nodes[orphan].tree;
        let (mut best, mut nearest) = (NONE, u32::MAX);
        for arc in self.network.arcs(orphan) {
            let (to, back) = self.network.follow(orphan, arc);
            let other = self.nodes[to];
            if other.tree != tree || other.parent == NONE {
                continue;
            }
            let open = match tree {
                Tree::Source => self.capacity[back],
                Tree::Sink => self.capacity[arc],
            };
            if open > C::default()
                && let Some(distance) = self.distance(to)
                && distance < nearest
            {
                (best, nearest) = (arc as u32, distance);
            }
        }
        if best != NONE {
            let time = self.time;
            let node = &mut self.nodes[orphan];
            (node.parent, node.time, node.distance) = (best, time, nearest + 1);
            return;
        }
        self.nodes[orphan].parent = NONE;
        for arc in self.network.arcs(orphan) {
            let (to, back) = self.network.follow(orphan, arc);
            let other = self.nodes[to];
            if other.tree != tree || other.parent == NONE {
                continue;
            }
            let open = match tree {
                Tree::Source => self.capacity[back],
                Tree::Sink => self.capacity[arc],
            };
            if open > C::default() {
                self.activate(to);
            }
            if other.parent == back as u32 {
                self.nodes[to].parent = ORPHAN;
                self.orphans.push_back(to as u32);
            }
        }
    }

    /// How far a node is from its terminal; none if an orphan is on the way. What is found is noted
    /// along the way.
    fn distance(&mut self, node: usize) -> Option<u32> {
        let (mut at, mut steps) = (node, 0);
        let total = loop {
            let Node { parent, time, distance, .. } = self.nodes[at];
            if parent == ORPHAN || parent == NONE {
                return None;
            }
            if time == self.time {
                break steps + distance;
            }
            if parent == TERMINAL {
                break steps + 1;
            }
            steps += 1;
            at = self.network.follow(at, parent as usize).0;
        };
        let (mut at, mut left) = (node, total);
        loop {
            let now = self.time;
            let there = &mut self.nodes[at];
            if there.time == now {
                return Some(total);
            }
            there.time = now;
            there.distance = left;
            if there.parent == TERMINAL {
                return Some(total);
            }
            left -= 1;
            at = self.network.follow(at, there.parent as usize).0;
        }
    }
}

/// A network on any graph, arcs sorted by the node that they leave.
#[derive(Debug, Clone)]
pub(crate) struct Graph {
    first: Vec<u32>,
    /// Where each arc leads, and its reverse.
    follow: Vec<(u32, u32)>,
    /// The arcs of each edge, forwards and backwards.
    pub(crate) arcs: Vec<[u32; 2]>,
}

impl Graph {
    pub(crate) fn new(nodes: usize, edges: &[(usize, usize)]) -> Self {
        let mut first = vec![0u32; nodes + 1];
        for &(a, b) in edges {
            first[a + 1] += 1;
            first[b + 1] += 1;
        }
        for i in 0..nodes {
            first[i + 1] += first[i];
        }
        let mut next = first.clone();
        let mut follow = vec![(0, 0); 2 * edges.len()];
        let mut arcs = Vec::with_capacity(edges.len());
        for &(a, b) in edges {
            let (there, back) = (next[a], next[b]);
            next[a] += 1;
            next[b] += 1;
            follow[there as usize] = (b as u32, back);
            follow[back as usize] = (a as u32, there);
            arcs.push([there, back]);
        }
        Self { first, follow, arcs }
    }
}

impl Network for Graph {
    fn nodes(&self) -> usize {
        self.first.len() - 1
    }

    fn arcs(&self, node: usize) -> std::ops::Range<usize> {
        self.first[node] as usize..self.first[node + 1] as usize
    }

    fn follow(&self, _node: usize, arc: usize) -> (usize, usize) {
        let (to, back) = self.follow[arc];
        (to as usize, back as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mereo_core::Context;
    use rand::RngExt;

    /// What a cut costs: arcs from the source's side to the sink's, and terminals on the wrong side.
    fn cost(edges: &[(usize, usize, i64, i64)], excess: &[i64], source: &[bool]) -> i64 {
        let arcs = edges.iter().map(|&(a, b, there, back)| match (source[a], source[b]) {
            (true, false) => there,
            (false, true) => back,
            _ => 0,
        });
        let terminals =
            excess.iter().zip(source).map(|(&e, &s)| if s { (-e).max(0) } else { e.max(0) });
        arcs.sum::<i64>() + terminals.sum::<i64>()
    }

    #[test]
    fn cuts_equal_brute_force() {
        for seed in 0..1000 {
            let mut random = Context::new(seed).random("network", [0, 0]);
            let n = random.random_range(1..10usize);
            let mut edges = Vec::new();
            for b in 1..n {
                for a in 0..b {
                    if random.random_range(0..3) > 0 {
                        edges.push((a, b, random.random_range(0..9), random.random_range(0..9)));
                    }
                }
            }
            let excess: Vec<i64> = (0..n).map(|_| random.random_range(-12..12)).collect();
            let ends: Vec<_> = edges.iter().map(|e| (e.0, e.1)).collect();
            let graph = Graph::new(n, &ends);
            let mut capacity = vec![0i64; 2 * edges.len()];
            for (e, arcs) in edges.iter().zip(&graph.arcs) {
                capacity[arcs[0] as usize] = e.2;
                capacity[arcs[1] as usize] = e.3;
            }
            let found = smallest_cut(&graph, excess.iter().copied(), &mut capacity);
            let least = (0..1u32 << n)
                .map(|s| (0..n).map(|i| s >> i & 1 == 1).collect::<Vec<_>>())
                .map(|s| cost(&edges, &excess, &s))
                .min();
            assert_eq!(Some(cost(&edges, &excess, &found)), least, "seed {seed}");
        }
    }
}
