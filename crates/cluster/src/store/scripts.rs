//! The store's scripts: idempotent, and atomic because each touches one key. Offsets as in [`value`](super::value).

/// Claims a document for its writer. ARGV: writer, value, the key, with which a record ends. Returns `n`: claimed,
/// `t`: claimed from a writer that did not settle it, `m`: already this writer's, `c`: settled by any writer, `o`:
/// has another key. A document that a failure left undecided gets the new ticket.
pub(super) const CLAIM: &str = "local old = redis.call('GET', KEYS[1])
if old then
  local writer = old:sub(20, 19 + old:byte(19))
  if old:sub(#old - #ARGV[3] + 1) ~= ARGV[3] then return 'o' end
  if old:sub(2, 2) == '1' then return 'c' end
  if writer == ARGV[1] then
    if old:sub(1, 1) == 'u' then redis.call('SET', KEYS[1], ARGV[2]) end
    return 'm'
  end
end
redis.call('SET', KEYS[1], ARGV[2])
return old and 't' or 'n'";

/// Ends a decision. ARGV: writer (empty: any), state, of. Returns the state and `of` that apply now; `t` if another
/// writer has taken the document over.
pub(super) const DECIDE: &str = "local old = redis.call('GETRANGE', KEYS[1], 0, 18)
if #old < 19 then return { 't', '' } end
if ARGV[1] ~= '' and redis.call('GETRANGE', KEYS[1], 19, 18 + old:byte(19)) ~= ARGV[1] then
  return { 't', '' }
end
if old:sub(1, 1) ~= 'u' then return { old:sub(1, 1), old:sub(11, 18) } end
redis.call('SETRANGE', KEYS[1], 0, ARGV[2])
redis.call('SETRANGE', KEYS[1], 10, ARGV[3])
return { ARGV[2], ARGV[3] }";

/// Restarts a decision with another ticket. ARGV: writer, ticket. Returns 1 if the document is this writer's.
pub(super) const AGAIN: &str = "local old = redis.call('GETRANGE', KEYS[1], 0, 18)
if #old < 19 or redis.call('GETRANGE', KEYS[1], 19, 18 + old:byte(19)) ~= ARGV[1] then return 0 end
redis.call('SETRANGE', KEYS[1], 0, 'u')
redis.call('SETRANGE', KEYS[1], 2, ARGV[2])
return 1";

/// Sets a state unconditionally. ARGV: state, of. Returns the previous state, or an empty string.
pub(super) const SET: &str = "local old = redis.call('GETRANGE', KEYS[1], 0, 0)
if #old == 0 then return '' end
redis.call('SETRANGE', KEYS[1], 0, ARGV[1])
redis.call('SETRANGE', KEYS[1], 10, ARGV[2])
return old";

/// Settles a document that is durable with its writer. ARGV: writer. Returns 0 if it belongs to another writer.
pub(super) const SETTLE: &str = "local old = redis.call('GETRANGE', KEYS[1], 0, 18)
if #old < 19 or redis.call('GETRANGE', KEYS[1], 19, 18 + old:byte(19)) ~= ARGV[1] then return 0 end
redis.call('SETRANGE', KEYS[1], 1, '1')
return 1";

/// Appends to a band's bucket unless it is full, and returns at most a full one. ARGV: entry, bytes of a full bucket.
pub(super) const BAND: &str = "local full = tonumber(ARGV[2])
if redis.call('STRLEN', KEYS[1]) < full then redis.call('APPEND', KEYS[1], ARGV[1]) end
return redis.call('GETRANGE', KEYS[1], 0, full - 1)";

pub(super) const REMOVE: &str = "local all = redis.call('GET', KEYS[1])
if not all then return 0 end
local entry, at, removed = ARGV[1], 1, 0
while true do
  local from = all:find(entry, at, true)
  if not from then break end
  if (from - 1) % #entry == 0 then
    all = all:sub(1, from - 1) .. all:sub(from + #entry)
    at, removed = from, removed + 1
  else
    at = from + 1
  end
end
if removed > 0 then
  if #all == 0 then redis.call('DEL', KEYS[1]) else redis.call('SET', KEYS[1], all) end
end
return removed";
