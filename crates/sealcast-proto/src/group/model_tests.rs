//! Groups against a plain model: who must be able to open an epoch, and who must not, whatever they gather.

use std::collections::{BTreeMap, BTreeSet};

use super::node::Node;
use super::secret::{Group, NodeSecret};
use super::sheet::Sheet;
use super::test_world::{World, agree, key, member, open};
use super::*;

/// A generator whose numbers depend on its seed alone (SplitMix64).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % sides
    }

    fn pick(&mut self, from: &BTreeSet<u64>) -> Option<u64> {
        let at = self.roll(from.len().max(1) as u64) as usize;
        from.iter().nth(at).copied()
    }
}

/// Secrets of a node in one run, and their epochs.
type Known = BTreeMap<([u8; RUN_LEN], Node), Vec<(u64, NodeSecret)>>;

/// Every wrap, by what makes its key and nonce: secret, run, epoch and node.
type SeenWraps = BTreeMap<(Vec<u8>, [u8; RUN_LEN], u64, Node), Vec<u8>>;

/// Knowledge of colluding members: every secret that any of them had, and all that the sheets give them with those.
struct Spies {
    who: BTreeSet<u64>,
    /// None of them leads to another.
    known: Known,
}

impl Spies {
    fn learn(&mut self, group: &Group, node: Node, epoch: u64, secret: &NodeSecret) -> bool {
        if self.knows(group, node, epoch, secret) {
            return false;
        }
        let known = self.known.entry((group.run, node)).or_default();
        known.push((epoch, secret.clone()));
        true
    }

    fn knows(&self, group: &Group, node: Node, epoch: u64, secret: &NodeSecret) -> bool {
        self.stepped(group, node, epoch).any(|known| known == *secret)
    }

    /// The secrets that they try for a node and an epoch: earlier ones stepped to it, and later ones as they are.
    fn stepped(&self, group: &Group, node: Node, epoch: u64) -> impl Iterator<Item = NodeSecret> {
        let known = self.known.get(&(group.run, node)).map_or(&[][..], Vec::as_slice);
        // A range that is empty leaves a later secret as it is.
        known
            .iter()
            .map(move |(from, secret)| secret.ratcheted(group, node, *from, epoch))
    }

    /// Everything that those who are members now have in their memory.
    fn look_around(&mut self, world: &World) {
        let tree = world.leader.tree();
        let seats: Vec<Node> = self.who.iter().filter_map(|spy| tree.seat_of(MemberId(*spy))).collect();
        for node in seats.into_iter().flat_map(Node::above) {
            let secret = tree.secret(node).expect("a member sits below");
            self.learn(tree.group(), node, tree.epoch(), secret);
        }
    }

    /// Opens whatever can be opened in these sheets, again and again until nothing comes of it.
    fn open_all(&mut self, sheets: &[Vec<u8>]) {
        let sheets: Vec<Sheet<'_>> = sheets.iter().map(|sheet| Sheet::parse(sheet).expect("ours")).collect();
        loop {
            let learned = sheets.iter().map(|sheet| self.open_one(sheet)).sum::<usize>();
            if learned == 0 {
                return;
            }
        }
    }

    fn open_one(&mut self, sheet: &Sheet<'_>) -> usize {
        let (group, epoch) = (sheet.head.group, sheet.head.epoch);
        let keys: Vec<NodeSecret> = self.who.iter().map(|spy| key(*spy).0.clone()).collect();
        let mut learned = 0;
        for (node, wrapped) in &sheet.wraps {
            let candidates = match node.is_leaf() {
                true => keys.clone(),
                false => self.stepped(&group, *node, epoch).collect(),
            };
            let mut opened = candidates
                .iter()
                .filter_map(|secret| secret.wrap_key(&group).unwrap(epoch, *node, wrapped));
            if let (Some(secret), Some(parent)) = (opened.next(), node.parent()) {
                learned += usize::from(self.learn(&group, parent, epoch, &secret));
            }
        }
        learned
    }
}

/// One epoch as it was.
struct Past {
    group: Group,
    epoch: u64,
    secret: NodeSecret,
    members: BTreeSet<u64>,
    record: Vec<u8>,
}

struct Model {
    world: World,
    dice: Dice,
    runs: u8,
    /// Members, as the model has them.
    members: BTreeSet<u64>,
    /// The epochs in which they were admitted.
    since: BTreeMap<u64, u64>,
    next: u64,
    /// Members that are played; sheets reach them late, twice or not at all.
    played: BTreeMap<u64, Member>,
    /// Members that are watched: some from the beginning, some who join later.
    spies: BTreeSet<u64>,
    /// Sets of them that work together.
    coalitions: Vec<Spies>,
    sheets: Vec<Vec<u8>>,
    past: Vec<Past>,
    wraps: SeenWraps,
}

const PLAYED: usize = 24;

impl Model {
    fn new(size: u64, seed: u64) -> Self {
        let mut dice = Dice(seed);
        let early = (0..4).map(|_| dice.roll(size));
        let spies: BTreeSet<u64> = early.chain([size, size + 3, size + 7]).collect();
        let late = |spy: &u64| *spy >= size;
        let together = [
            spies.clone(),
            spies.iter().copied().filter(late).collect(),
            spies.iter().copied().filter(|spy| !late(spy)).collect(),
        ];
        let alone = spies.iter().map(|spy| BTreeSet::from([*spy]));
        let coalitions = together.into_iter().chain(alone);
        let mut model = Self {
            world: World::new(),
            dice,
            runs: 1,
            members: BTreeSet::new(),
            since: BTreeMap::new(),
            next: 0,
            played: BTreeMap::new(),
            coalitions: coalitions
                .map(|who| Spies {
                    who,
                    known: BTreeMap::new(),
                })
                .collect(),
            spies,
            sheets: Vec::new(),
            past: Vec::new(),
            wraps: BTreeMap::new(),
        };
        model.join(size);
        model.change();
        model
    }

    fn join(&mut self, count: u64) {
        let numbers = self.next..self.next + count;
        self.next = numbers.end;
        self.world.admit(numbers.clone());
        self.members.extend(numbers);
    }

    fn leave(&mut self, who: u64) {
        if self.members.remove(&who) {
            self.world.remove([who]);
        }
    }

    /// Some changes at random, or none.
    fn ask(&mut self) {
        for _ in 0..=self.dice.roll(4) {
            match self.dice.roll(6) {
                0 | 1 => {
                    let count = 1 + self.dice.roll(3);
                    self.join(count);
                }
                2 => {
                    let gone = self.spies.iter().copied().find(|spy| self.members.contains(spy));
                    self.leave(gone.unwrap_or(0));
                }
                3 | 4 => {
                    let who = self.dice.pick(&self.members).unwrap_or(0);
                    self.leave(who);
                }
                _ => self.world.leader.rekey(self.world.now),
            }
        }
        // Who left may come back, with the same key.
        let spy = self.dice.pick(&self.spies).unwrap_or(0);
        if self.dice.roll(8) == 0 && spy < self.next && self.members.insert(spy) {
            self.world.admit([spy]);
        }
    }

    fn change(&mut self) {
        if self.world.leader.deadline().is_none() {
            return;
        }
        let announced = self.world.change();
        let admitted = announced.admitted.iter().map(|MemberId(who)| (*who, announced.epoch));
        self.since.extend(admitted);
        // A relay sees what goes to single members as well.
        let someone = self.dice.pick(&self.members);
        self.sheets.extend(someone.map(|who| self.world.path(who)));
        self.note(announced.sheet.as_ref());
        self.play(announced.sheet.as_ref());
        self.sheets.extend(announced.sheet);
    }

    /// Writes down what is true of the new epoch.
    fn note(&mut self, sheet: Option<&Vec<u8>>) {
        for spies in &mut self.coalitions {
            spies.look_around(&self.world);
        }
        let record = self.world.record();
        let tree = self.world.leader.tree();
        assert_eq!(tree.members(), self.members.len());
        self.past.push(Past {
            group: *tree.group(),
            epoch: tree.epoch(),
            secret: tree.group_secret().clone(),
            members: self.members.clone(),
            record,
        });
        for sheet in sheet.into_iter().chain([&self.world.leader.full_sheet()]) {
            let sheet = Sheet::parse(sheet).expect("ours");
            note_wraps(&mut self.wraps, &sheet, &self.world, &self.members);
        }
    }

    /// Some members watch. Each opens the epoch's record if it is a member, at the latest after its path sheet.
    fn play(&mut self, sheet: Option<&Vec<u8>>) {
        while self.played.len() < PLAYED.min(self.members.len()) {
            let who = self.dice.pick(&self.members).expect("there are some");
            let runs = self.runs;
            self.played.entry(who).or_insert_with(|| {
                let mut member = member(who);
                agree(&mut member, runs);
                member
            });
        }
        let now = self.past.last().expect("it was noted");
        let mut removed = Vec::new();
        for (who, member) in &mut self.played {
            let lost = self.dice.roll(5) == 0;
            if let Some(sheet) = sheet.filter(|_| !lost) {
                let _ = member.take(sheet);
                let again = member.take(sheet).expect_err("once is enough");
                let seated = now.members.contains(who) && self.since[who] <= member.sheet_epoch().unwrap_or(0);
                assert!(!seated || again != SheetRefusal::NoSlot, "{who}");
            }
            let opened = open(member, &now.record);
            if !now.members.contains(who) {
                assert!(opened.is_err(), "{who} was removed, and opens epoch {}", now.epoch);
                removed.push(*who);
            } else if opened.is_err() {
                let path = self.world.path(*who);
                // Sometimes it waits for a later sheet instead.
                if self.dice.roll(3) > 0 {
                    member.take(&path).expect("it is all that a member needs");
                    assert_eq!(open(member, &now.record), Ok(now.epoch));
                }
            }
            if self.dice.roll(3) == 0 {
                member.confirm(self.world.now, now.epoch);
            }
            let old = self.dice.roll(self.sheets.len().max(1) as u64) as usize;
            let before = member.sheet_epoch();
            let _ = self.sheets.get(old).map(|old| member.take(old));
            assert!(member.sheet_epoch() >= before, "no old sheet leads back");
        }
        for who in removed {
            self.played.remove(&who);
        }
    }

    fn restart(&mut self) {
        self.runs += 1;
        self.world = World::run(u64::from(self.runs) << 20, self.runs);
        self.played.values_mut().for_each(|member| agree(member, self.runs));
        self.world.admit(self.members.iter().copied());
        self.change();
        self.sheets.push(self.world.leader.full_sheet());
    }

    /// Spies who work together, with every sheet, know a group secret if and only if one of them was a member in its
    /// epoch.
    fn judge(mut self) {
        for spies in &mut self.coalitions {
            spies.open_all(&self.sheets);
            for past in &self.past {
                let knows = spies.knows(&past.group, Node::ROOT, past.epoch, &past.secret);
                let may = !past.members.is_disjoint(&spies.who);
                assert_eq!(knows, may, "epoch {}, {:?}", past.epoch, spies.who);
            }
        }
        assert!(self.past.iter().any(|past| past.members.is_disjoint(&self.spies)));
        assert!(self.past.iter().any(|past| !past.members.is_disjoint(&self.spies)));
    }
}

/// Asserts that the key and nonce of each wrap belong to one wrap only.
fn note_wraps(wraps: &mut SeenWraps, sheet: &Sheet<'_>, world: &World, members: &BTreeSet<u64>) {
    let (tree, head) = (world.leader.tree(), &sheet.head);
    let seats: BTreeMap<Node, u64> = members
        .iter()
        .filter_map(|who| Some((tree.seat_of(MemberId(*who))?, *who)))
        .collect();
    for (node, wrapped) in &sheet.wraps {
        let secret = match seats.get(node) {
            Some(who) => key(*who).0.bytes().to_vec(),
            None => tree.secret(*node).expect("it has a wrap").bytes().to_vec(),
        };
        let nonce = (secret, head.group.run, head.epoch, *node);
        let first = wraps.entry(nonce).or_insert_with(|| wrapped.to_vec());
        assert_eq!(first[..], wrapped[..], "one nonce, two wraps");
    }
}

fn play(size: u64, steps: u64, seed: u64) {
    let mut model = Model::new(size, seed);
    for step in 0..steps {
        model.ask();
        model.change();
        if step % 16 == 15 {
            model.restart();
        }
    }
    // At last all spies leave, and the others go on.
    for spy in model.spies.clone() {
        model.leave(spy);
    }
    model.join(1);
    model.change();
    for _ in 0..3 {
        model.world.leader.rekey(model.world.now);
        model.join(2);
        model.change();
    }
    model.judge();
}

#[test]
fn small_groups_are_as_the_model_says() {
    for seed in 0..12 {
        play(1 + seed, 40, seed);
    }
}

#[test]
fn groups_around_the_largest_full_sheet_are_as_the_model_says() {
    for seed in 0..3 {
        play(254 + seed, 40, 100 + seed);
    }
}

#[test]
fn large_groups_are_as_the_model_says() {
    play(2_000, 30, 200);
}
