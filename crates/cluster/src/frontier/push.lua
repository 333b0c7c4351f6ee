-- Queues URLs that were never seen. ARGV: prefix, requests at a time, then for each URL: mode, host,
-- bucket of the seen-set, its key there, the entry. Modes: n new, a again, p probe, m mark only, r refuse.
-- Answers, for each, 1 if it was not known; of those to look at again, if it was not queued.
local p, per_host = ARGV[1], tonumber(ARGV[2])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local answers = {}
for i = 3, #ARGV, 5 do
  local mode, host, bucket, key, entry = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4]
  local new = redis.call('SADD', p .. 'seen:' .. bucket, key)
  if new == 1 and mode ~= 'r' then redis.call('HINCRBY', p .. 'counts', 'known', 1) end
  answers[#answers + 1] = new
  local queue = mode ~= 'm' and mode ~= 'r' and (new == 1 or mode == 'a')
  -- Whatever is queued stands in again until it is finished.
  if queue and redis.call('SADD', p .. 'again:' .. bucket, key) == 0 and mode == 'a' then queue = false end
  if mode == 'a' then answers[#answers] = queue and 1 or 0 end
  if queue then
    local h, q = p .. 'h:' .. host, p .. 'q:' .. host
    redis.call('SADD', p .. 'hosts', host)
    redis.call('HINCRBY', p .. 'counts', 'queued', 1)
    redis.call(mode == 'p' and 'LPUSH' or 'RPUSH', q, '\0' .. entry)
    local state = redis.call('HMGET', h, 'g', 'n', 't')
    if state[1] then
      redis.call('HINCRBY', p .. 'counts', 'deferred', 1)
    elseif tonumber(state[2] or 0) < per_host then
      redis.call('ZADD', p .. 'ready', 'NX', math.max(tonumber(state[3] or 0), now), host)
    end
  end
end
return answers
