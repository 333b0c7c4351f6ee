-- What became of leases. ARGV: prefix, worker, requests at a time, failures that open the breaker, its wait
-- (ms), failures that end a host, then for each: what, number, wait (ms), failure, and of x: bucket and key
-- in the set of what is queued; of b: + if it was tried; of d: ! if it counts as three failures, ? if nothing was asked. What: f free, u free and nothing was asked, e free after a failure, x finish,
-- b back to the queue, d defer.
-- Answers, for each: 1 if the host is given up by that, -1 if the lease was lost meanwhile.
local p, own, per_host = ARGV[1], ARGV[2], tonumber(ARGV[3])
local breaker, breaker_wait, give_up = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local answers = {}
for i = 7, #ARGV, 5 do
  local what, id, wait, failure, again = ARGV[i], ARGV[i + 1], tonumber(ARGV[i + 2]), ARGV[i + 3] == '1', ARGV[i + 4]
  local held = redis.call('HGET', p .. 'held', id)
  if held and held:match('^[^\n]*\n([^\n]*)\n') ~= own then held = false end
  local answer = held and 0 or -1
  if held then
    local freed, host, worker, entry = held:match('^(.)([^\n]*)\n([^\n]*)\n(.*)$')
    local h, q = p .. 'h:' .. host, p .. 'q:' .. host
    if freed == '0' then redis.call('HINCRBY', h, 'n', -1) end
    -- Sent twice, it failed once.
    if what == 'e' and freed == '1' then failure = false end
    if what == 'f' or what == 'u' or what == 'e' then
      redis.call('HSET', p .. 'held', id, '1' .. held:sub(2))
    else
      redis.call('HDEL', p .. 'held', id)
      redis.call('ZREM', p .. 'leases', id)
    end
    if what == 'u' or what == 'd' and again == '?' then
      -- The clock goes back to where it was, unless it was moved since.
      local last = redis.call('HMGET', h, 'l', 's', 'b', 't')
      if last[1] == id and last[2] and last[2] == last[4] then
        redis.call('HSET', h, 't', last[3])
        redis.call('ZREM', p .. 'ready', host)
      end
    end
    local state = redis.call('HMGET', h, 'g', 'n', 't', 'f', 'd')
    local down, failures = state[1], tonumber(state[4] or 0)
    if what == 'f' or what == 'e' then wait = math.max(wait, tonumber(state[5] or 0)) end
    if what == 'f' then
      if failures > 0 then redis.call('HSET', h, 'f', 0) end
    elseif failure then
      failures = redis.call('HINCRBY', h, 'f', what == 'd' and again == '!' and 3 or 1)
      if failures >= breaker then
        wait = math.max(wait, breaker_wait * 2 ^ math.min(failures - breaker, 8))
      end
    end
    if what == 'x' then
      redis.call('HINCRBY', p .. 'counts', 'queued', -1)
      local bucket, key = again:match('^(%d+):(.+)$')
      if bucket then redis.call('SREM', p .. 'again:' .. bucket, key) end
    elseif what == 'b' then
      local attempts = entry:byte(1) or 0
      if failure or again == '+' then attempts = math.min(attempts + 1, 255) end
      redis.call('LPUSH', q, string.char(attempts) .. entry:sub(2))
      if down then redis.call('HINCRBY', p .. 'counts', 'deferred', 1) end
    elseif what == 'd' then
      redis.call('RPUSH', p .. 'deferred', host .. '\n' .. entry)
      redis.call('HINCRBY', p .. 'counts', 'deferred', 1)
    end
    local allowed = math.max(tonumber(state[3] or 0), now + wait)
    if wait > 0 then redis.call('HSET', h, 't', allowed) end
    if failure and failures >= give_up and not down then
      answer = 1
      redis.call('HSET', h, 'g', 1)
      redis.call('SADD', p .. 'down', host)
      redis.call('ZREM', p .. 'ready', host)
      redis.call('HINCRBY', p .. 'counts', 'deferred', redis.call('LLEN', q))
    elseif not down and redis.call('LLEN', q) > 0 and tonumber(state[2] or 0) < per_host then
      if wait > 0 then
        redis.call('ZADD', p .. 'ready', allowed, host)
      else
        redis.call('ZADD', p .. 'ready', 'NX', math.max(tonumber(state[3] or 0), now), host)
      end
    end
  end
  answers[#answers + 1] = answer
end
return answers
