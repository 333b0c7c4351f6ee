//! Decides about a batch of documents while other writers decide too.
//!
//! A document is undecided from its claim on. Its writer appends it to its buckets, then reads them. A kept match
//! makes it a duplicate. It waits for an undecided match with a lower ticket, and marks one with a higher ticket as
//! its duplicate before it is kept. Each step is atomic on one key, where late writers read the decision.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::{Duration, Instant};

use hapax_dedup::{DocId, Document, Level, Neighbour, Record, Verdict};
use redis::Value;
use redis::cluster::ClusterPipeline;

use super::tables::level_of;
use super::value::{NOTHING, State, Stored, encode};
use super::{ClusterStore, MAX_SALT, number_of, scripts};
use crate::error::{Error, Result};
use crate::keys::{bytes, list};

/// Longest wait for a writer that is gone.
const WAIT: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(1);

type Proposals = BTreeMap<DocId, (Level, Option<usize>)>;

#[derive(Debug)]
struct Claim<'a> {
    at: usize,
    id: DocId,
    ticket: u64,
    document: &'a Document<'a>,
    proposed: Proposals,
}

enum Plan {
    Keep,
    Duplicate(Neighbour),
    Wait,
}

impl ClusterStore {
    /// Returns the verdicts about a batch, and adds its claims to `claimed`.
    pub(super) fn decide(
        &self,
        documents: &[Document<'_>],
        claimed: &mut Vec<DocId>,
    ) -> Result<Vec<Verdict>> {
        let mut verdicts: Vec<Option<Verdict>> = vec![None; documents.len()];
        let mut pending = self.claim(documents, &mut verdicts)?;
        claimed.extend(pending.iter().map(|claim| claim.id));
        self.propose(&mut pending)?;
        let mut waited = Instant::now();
        while !pending.is_empty() {
            let before = pending.len();
            self.round(&mut pending, &mut verdicts)?;
            if pending.len() < before {
                waited = Instant::now();
            } else if waited.elapsed() > WAIT {
                self.abandon(&pending)?;
                waited = Instant::now();
            } else {
                std::thread::sleep(PAUSE);
            }
        }
        let gone: Vec<(DocId, &Document<'_>)> = verdicts
            .iter()
            .zip(documents)
            .filter_map(|(verdict, document)| match verdict {
                Some(Verdict::Duplicate { id, .. }) => Some((*id, document)),
                _ => None,
            })
            .collect();
        self.withdraw(&gone)?;
        // Each document of the batch was claimed, known, or decided.
        Ok(verdicts.into_iter().flatten().collect())
    }

    /// Claims the documents' numbers. Known documents get their verdict.
    fn claim<'a>(
        &self,
        documents: &'a [Document<'a>],
        verdicts: &mut [Option<Verdict>],
    ) -> Result<Vec<Claim<'a>>> {
        let mut claims = Vec::new();
        let mut keys: HashMap<&[u8], DocId> = HashMap::new();
        let mut open: Vec<usize> = (0..documents.len()).collect();
        let mut new = 0;
        for salt in 0..MAX_SALT {
            let mut pipe = ClusterPipeline::new();
            let mut asked = Vec::new();
            for at in std::mem::take(&mut open) {
                let Some(document) = documents.get(at) else { continue };
                let id = number_of(document.key, salt);
                if let Some(&first) = keys.get(document.key) {
                    set(verdicts, at, Verdict::Known(first));
                    continue;
                }
                keys.insert(document.key, id);
                let ticket = self.ticket()?;
                let record = record_of(id, document);
                self.eval(&mut pipe, scripts::CLAIM, id);
                pipe.arg(&self.writer);
                pipe.arg(encode(State::Undecided, ticket, NOTHING, &self.writer, &record));
                pipe.arg(document.key);
                asked.push(Claim { at, id, ticket, document, proposed: Proposals::new() });
            }
            if asked.is_empty() {
                break;
            }
            let answers = self.cluster.link.pipe(&pipe)?;
            for (claim, answer) in asked.into_iter().zip(&answers) {
                match bytes(answer).unwrap_or_default() {
                    b"n" | b"t" => {
                        new += i64::from(bytes(answer) == Some(b"n"));
                        claims.push(claim);
                    }
                    b"o" => {
                        keys.remove(claim.document.key);
                        open.push(claim.at);
                    }
                    // A repeated claim is already this writer's, and still undecided.
                    b"m" if !self.held().unsettled.contains_key(&claim.id) => claims.push(claim),
                    _ => set(verdicts, claim.at, Verdict::Known(claim.id)),
                }
            }
        }
        if !open.is_empty() {
            let address = self.cluster.link.address.clone();
            return Err(Error::Refused { address, why: "too many keys share a number".into() });
        }
        if new > 0 {
            self.cluster.add("documents", new)?;
        }
        claims.sort_by_key(|claim| claim.at);
        let mut held = self.held();
        for claim in &claims {
            held.unsettled.insert(claim.id, claim.document.key.to_vec());
        }
        Ok(claims)
    }

    /// Appends, then reads: of two concurrent writers at least one sees the other.
    fn propose(&self, claims: &mut [Claim<'_>]) -> Result<()> {
        let mut places = Vec::new();
        let mut owners = Vec::new();
        for (at, claim) in claims.iter().enumerate() {
            places.extend(self.places(claim.id, claim.document));
            owners.resize(places.len(), at);
        }
        let buckets = self.append(&places)?;
        for ((place, bucket), at) in places.iter().zip(&buckets).zip(owners) {
            let bucket = bytes(bucket).unwrap_or_default();
            if let Some(claim) = claims.get_mut(at) {
                self.shape.propose(place, bucket, self.policy.distance, &mut claim.proposed);
            }
        }
        for claim in claims {
            claim.proposed.remove(&claim.id);
        }
        Ok(())
    }

    /// Decides what can be decided; the rest stays pending.
    fn round(&self, pending: &mut Vec<Claim<'_>>, verdicts: &mut [Option<Verdict>]) -> Result<()> {
        let ids: HashSet<DocId> =
            pending.iter().flat_map(|claim| claim.proposed.keys().copied()).collect();
        let ids: Vec<DocId> = ids.into_iter().collect();
        let stored = self.fetch(&ids)?;
        let own: HashSet<DocId> = pending.iter().map(|claim| claim.id).collect();
        let mut plans = Vec::with_capacity(pending.len());
        let mut marks = Vec::new();
        for (at, claim) in pending.iter().enumerate() {
            let plan = self.plan(claim, &stored);
            if matches!(plan, Plan::Keep) {
                for (id, other) in self.undecided(claim, &stored) {
                    // Documents of this batch wait for their turn instead.
                    if (other.ticket, id) > (claim.ticket, claim.id) && !own.contains(&id) {
                        marks.push((at, id));
                    }
                }
            }
            plans.push(plan);
        }
        self.mark(pending, &stored, &marks, &mut plans)?;
        self.carry_out(pending, &stored, plans, verdicts)
    }

    fn plan(&self, claim: &Claim<'_>, stored: &HashMap<DocId, Stored>) -> Plan {
        let mut best: Option<Neighbour> = None;
        for (&id, &(level, table)) in &claim.proposed {
            let Some(other) = stored.get(&id).filter(|other| other.state == State::Kept) else {
                continue;
            };
            let Some(found) = self.evidence(claim.document, id, &other.record, level, table) else {
                continue;
            };
            if best.as_ref().is_none_or(|best| is_better(&found, best, stored)) {
                best = Some(found);
            }
        }
        match best {
            Some(best) => Plan::Duplicate(best),
            None if self.before(claim, stored).next().is_some() => Plan::Wait,
            None => Plan::Keep,
        }
    }

    /// Returns the undecided matches with lower tickets.
    fn before<'s>(
        &'s self,
        claim: &'s Claim<'_>,
        stored: &'s HashMap<DocId, Stored>,
    ) -> impl Iterator<Item = DocId> {
        self.undecided(claim, stored)
            // After the loss of a master two tickets may be equal.
            .filter(|(id, other)| (other.ticket, *id) < (claim.ticket, claim.id))
            .map(|(id, _)| id)
    }

    fn undecided<'s>(
        &'s self,
        claim: &'s Claim<'_>,
        stored: &'s HashMap<DocId, Stored>,
    ) -> impl Iterator<Item = (DocId, &'s Stored)> {
        claim.proposed.iter().filter_map(|(&id, &(level, table))| {
            let other = stored.get(&id).filter(|other| other.state == State::Undecided)?;
            self.evidence(claim.document, id, &other.record, level, table)?;
            Some((id, other))
        })
    }

    fn evidence(
        &self,
        document: &Document<'_>,
        id: DocId,
        other: &Record,
        level: Level,
        table: Option<usize>,
    ) -> Option<Neighbour> {
        if document.tokens == 0 || other.tokens == 0 {
            return None;
        }
        let real = level_of(document, other, self.policy.distance);
        // A bucket has only four bytes of a digest, and may have outdated entries.
        let found = if real > level { (real, None) } else { (level, table) };
        let of = other.document();
        let fingerprints = [document.fingerprint, other.fingerprint];
        self.policy.neighbour(id, found, fingerprints, [document.side(), of.side()])
    }

    /// Marks matches with higher tickets as duplicates of documents that will be kept; a match kept before wins.
    fn mark(
        &self,
        pending: &[Claim<'_>],
        stored: &HashMap<DocId, Stored>,
        marks: &[(usize, DocId)],
        plans: &mut [Plan],
    ) -> Result<()> {
        if marks.is_empty() {
            return Ok(());
        }
        let mut pipe = ClusterPipeline::new();
        for (at, id) in marks {
            let of = pending.get(*at).map_or(NOTHING, |claim| claim.id);
            self.eval(&mut pipe, scripts::DECIDE, *id);
            pipe.arg("").arg(&[State::Discarded.letter()][..]).arg(&of.to_le_bytes()[..]);
        }
        let answers = self.cluster.link.pipe(&pipe)?;
        for ((at, id), answer) in marks.iter().zip(&answers) {
            let (Some(claim), Some(plan)) = (pending.get(*at), plans.get_mut(*at)) else {
                continue;
            };
            let Some(other) = stored.get(id) else { continue };
            if decided(answer).0 == Some(State::Kept) {
                let (level, table) =
                    claim.proposed.get(id).copied().unwrap_or((Level::Sketch, None));
                if let Some(found) = self.evidence(claim.document, *id, &other.record, level, table)
                {
                    *plan = Plan::Duplicate(found);
                }
            }
        }
        Ok(())
    }

    fn carry_out(
        &self,
        pending: &mut Vec<Claim<'_>>,
        stored: &HashMap<DocId, Stored>,
        plans: Vec<Plan>,
        verdicts: &mut [Option<Verdict>],
    ) -> Result<()> {
        let mut pipe = ClusterPipeline::new();
        let mut asked = Vec::new();
        let mut left = Vec::new();
        for (claim, plan) in pending.drain(..).zip(plans) {
            let (state, of) = match &plan {
                Plan::Wait => {
                    left.push(claim);
                    continue;
                }
                Plan::Keep => (State::Kept, NOTHING),
                Plan::Duplicate(best) => (State::Discarded, best.id),
            };
            self.eval(&mut pipe, scripts::DECIDE, claim.id);
            pipe.arg(&self.writer).arg(&[state.letter()][..]).arg(&of.to_le_bytes()[..]);
            asked.push((claim, plan));
        }
        *pending = left;
        if asked.is_empty() {
            return Ok(());
        }
        let answers = self.cluster.link.pipe(&pipe)?;
        for ((claim, plan), answer) in asked.into_iter().zip(&answers) {
            let id = claim.id;
            match (decided(answer), plan) {
                ((Some(State::Kept), _), _) => set(verdicts, claim.at, Verdict::New(id)),
                ((Some(State::Discarded), of), Plan::Duplicate(best)) if of == best.id => {
                    set(verdicts, claim.at, Verdict::Duplicate { id, of: best });
                }
                ((Some(State::Discarded), of), _) => {
                    // This holds only if the document that marked it is kept in the end.
                    if self.comes_to_be_kept(of)? {
                        let of = self.marked_by(&claim, of, stored)?;
                        set(verdicts, claim.at, Verdict::Duplicate { id, of });
                    } else if let Some(claim) = self.again(claim, verdicts)? {
                        pending.push(claim);
                    }
                }
                ((Some(State::Abandoned | State::Undecided), _), _) => {
                    // Another writer continued without it: it starts again with a new ticket.
                    if let Some(claim) = self.again(claim, verdicts)? {
                        pending.push(claim);
                    }
                }
                // Another writer has taken it over and decides about it.
                ((None, _), _) => {
                    self.held().unsettled.remove(&id);
                    set(verdicts, claim.at, Verdict::Known(id));
                }
            }
        }
        pending.sort_by_key(|claim| claim.at);
        Ok(())
    }

    /// Waits for the decision about a document with a lower ticket. Returns whether that one is kept.
    fn comes_to_be_kept(&self, id: DocId) -> Result<bool> {
        let began = Instant::now();
        loop {
            match self.fetch(&[id])?.remove(&id).map(|other| other.state) {
                Some(State::Kept) => return Ok(true),
                Some(State::Undecided) if began.elapsed() < WAIT => std::thread::sleep(PAUSE),
                _ => return Ok(false),
            }
        }
    }

    /// Returns the evidence for a decision by a writer with a lower ticket.
    fn marked_by(
        &self,
        claim: &Claim<'_>,
        of: DocId,
        stored: &HashMap<DocId, Stored>,
    ) -> Result<Neighbour> {
        let found = match stored.get(&of) {
            Some(other) => Some(other.clone()),
            None => self.fetch(&[of])?.remove(&of),
        };
        let neighbour = found.and_then(|other| {
            let level = level_of(claim.document, &other.record, self.policy.distance);
            self.evidence(claim.document, of, &other.record, level, None)
        });
        // The other document is gone; only the decision is known.
        Ok(neighbour.unwrap_or(Neighbour {
            id: of,
            fingerprint: claim.document.fingerprint,
            distance: 0,
            similarity: None,
            similarity_threshold: None,
            level: Level::Hamming,
            table: None,
        }))
    }

    fn again<'a>(
        &self,
        claim: Claim<'a>,
        verdicts: &mut [Option<Verdict>],
    ) -> Result<Option<Claim<'a>>> {
        let ticket = self.ticket()?;
        let mut pipe = ClusterPipeline::new();
        self.eval(&mut pipe, scripts::AGAIN, claim.id);
        pipe.arg(&self.writer).arg(&ticket.to_le_bytes()[..]);
        let answers = self.cluster.link.pipe(&pipe)?;
        if answers.first().and_then(crate::keys::number) != Some(1) {
            self.held().unsettled.remove(&claim.id);
            set(verdicts, claim.at, Verdict::Known(claim.id));
            return Ok(None);
        }
        let mut claims = [Claim { ticket, ..claim }];
        self.propose(&mut claims)?;
        Ok(claims.into_iter().next())
    }

    fn abandon(&self, pending: &[Claim<'_>]) -> Result<()> {
        let own: HashSet<DocId> = pending.iter().map(|claim| claim.id).collect();
        let ids: HashSet<DocId> =
            pending.iter().flat_map(|claim| claim.proposed.keys().copied()).collect();
        let ids: Vec<DocId> = ids.into_iter().collect();
        let stored = self.fetch(&ids)?;
        // Matches with higher tickets, and those that are not similar, were not waited for.
        let waited: HashSet<DocId> = pending
            .iter()
            .flat_map(|claim| self.before(claim, &stored))
            .filter(|id| !own.contains(id))
            .collect();
        let mut pipe = ClusterPipeline::new();
        for &id in &waited {
            self.eval(&mut pipe, scripts::DECIDE, id);
            pipe.arg("").arg(&[State::Abandoned.letter()][..]).arg(&NOTHING.to_le_bytes()[..]);
        }
        if waited.is_empty() { Ok(()) } else { self.cluster.link.pipe(&pipe).map(|_| ()) }
    }
}

fn set(verdicts: &mut [Option<Verdict>], at: usize, verdict: Verdict) {
    if let Some(slot) = verdicts.get_mut(at) {
        *slot = Some(verdict);
    }
}

fn decided(answer: &Value) -> (Option<State>, DocId) {
    let parts = list(answer);
    let state = parts.first().and_then(bytes).and_then(<[u8]>::first).copied().and_then(State::of);
    let of = parts.get(1).and_then(bytes).and_then(|of| of.first_chunk()).copied();
    (state, of.map_or(NOTHING, DocId::from_le_bytes))
}

/// Same order as in the embedded store: equal text, similarity, distance, age.
fn is_better(a: &Neighbour, b: &Neighbour, stored: &HashMap<DocId, Stored>) -> bool {
    let ticket = |id: DocId| stored.get(&id).map_or(u64::MAX, |stored| stored.ticket);
    a.best_first(b).then(ticket(a.id).cmp(&ticket(b.id))).is_lt()
}

fn record_of(id: DocId, document: &Document<'_>) -> Record {
    Record {
        id,
        of: None,
        fingerprint: document.fingerprint,
        digest: document.digest,
        sketch: document.sketch,
        tokens: document.tokens,
        site: document.site,
        names: document.names,
        numbers: document.numbers,
        time: document.time,
        indexed: true,
        strong_digest: true,
        key: document.key.to_vec(),
    }
}
