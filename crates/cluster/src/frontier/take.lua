-- Leases URLs. ARGV: prefix, worker, requests at a time, delay (ms), lease (ms), how many, for how
-- long a host must have been ready (ms). Answers: ms until the next look, then for each lease: its
-- number, its host, attempts and entry, and the host's delay.
local p, worker, per_host = ARGV[1], ARGV[2], tonumber(ARGV[3])
local delay, lease, want, age = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

-- What a worker did not come back with goes to the head of its queue.
for _, id in ipairs(redis.call('ZRANGEBYSCORE', p .. 'leases', '-inf', now, 'LIMIT', 0, 100)) do
  local held = redis.call('HGET', p .. 'held', id)
  redis.call('ZREM', p .. 'leases', id)
  redis.call('HDEL', p .. 'held', id)
  if held then
    local freed, host, entry = held:match('^(.)([^\n]*)\n[^\n]*\n(.*)$')
    local h = p .. 'h:' .. host
    if freed == '0' then redis.call('HINCRBY', h, 'n', -1) end
    local attempts = math.min((entry:byte(1) or 0) + 1, 255)
    redis.call('LPUSH', p .. 'q:' .. host, string.char(attempts) .. entry:sub(2))
    local state = redis.call('HMGET', h, 'g', 't')
    if state[1] then
      redis.call('HINCRBY', p .. 'counts', 'deferred', 1)
    else
      redis.call('ZADD', p .. 'ready', 'NX', math.max(tonumber(state[2] or 0), now), host)
    end
  end
end

-- Numbers that no master gives again, though it may not have heard the last ones of the one before.
local sequence = math.max(tonumber(redis.call('HGET', p .. 'counts', 'sequence') or 0), now * 1000)
local answers = { 0 }
-- Hosts that are looked at, so many at a time. Those of other workers stay where they are and are passed
-- over; there are no more of them than requests of theirs.
local step, most = 256, 4096
local others, looked, found = 0, 0, step
while want > 0 and found == step and looked < most do
  local hosts = redis.call('ZRANGEBYSCORE', p .. 'ready', '-inf', now - age, 'LIMIT', others, step)
  found, looked = #hosts, looked + #hosts
  for _, host in ipairs(hosts) do
    if want <= 0 then break end
    local h, q = p .. 'h:' .. host, p .. 'q:' .. host
    local state = redis.call('HMGET', h, 'n', 'o', 'd', 't')
    local n = tonumber(state[1] or 0)
    if n >= per_host then
      -- It is put back when one of its requests ends.
      redis.call('ZREM', p .. 'ready', host)
    -- A host has one owner at a time.
    elseif n == 0 or state[2] == worker then
      local pause = math.max(delay, tonumber(state[3] or 0))
      local last
      repeat
        local entry = redis.call('LPOP', q)
        if not entry then break end
        sequence = sequence + 1
        local id = string.format('%.0f', sequence)
        last = id
        redis.call('ZADD', p .. 'leases', now + lease, id)
        redis.call('HSET', p .. 'held', id, '0' .. host .. '\n' .. worker .. '\n' .. entry)
        answers[#answers + 1] = id
        answers[#answers + 1] = host
        answers[#answers + 1] = entry
        answers[#answers + 1] = pause
        n, want = n + 1, want - 1
      until pause > 0 or want <= 0 or n >= per_host
      redis.call('HSET', h, 'n', n, 'o', worker, 't', now + pause)
      if last then
        -- For a lease that asks nothing: its number, and the clock after and before it.
        redis.call('HSET', h, 'l', last, 's', now + pause, 'b', state[4] or 0)
      end
      if n >= per_host or redis.call('LLEN', q) == 0 then
        redis.call('ZREM', p .. 'ready', host)
      else
        redis.call('ZADD', p .. 'ready', now + pause, host)
      end
    else
      others = others + 1
    end
  end
end
redis.call('HSET', p .. 'counts', 'sequence', string.format('%.0f', sequence))
local next = redis.call('ZRANGE', p .. 'ready', 0, 0, 'WITHSCORES')
answers[1] = next[2] and math.max(math.floor(tonumber(next[2]) + age - now), 1) or -1
return answers
