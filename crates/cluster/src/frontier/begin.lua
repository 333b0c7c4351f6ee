-- A worker begins. ARGV: prefix, worker, 1 if it is the only one, then leases that it holds. Its other
-- leases go back; for the only one, so does what was given up.
local p, worker, alone = ARGV[1], ARGV[2], ARGV[3] == '1'
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function wake(host)
  local t = redis.call('HGET', p .. 'h:' .. host, 't')
  redis.call('ZADD', p .. 'ready', math.max(tonumber(t or 0), now), host)
end
local keeps = {}
for i = 4, #ARGV do keeps[ARGV[i]] = true end
local held = redis.call('HGETALL', p .. 'held')
for i = 1, #held, 2 do
  local freed, host, owner, entry = held[i + 1]:match('^(.)([^\n]*)\n([^\n]*)\n(.*)$')
  if owner == worker and not keeps[held[i]] then
    redis.call('HDEL', p .. 'held', held[i])
    redis.call('ZREM', p .. 'leases', held[i])
    if freed == '0' then redis.call('HINCRBY', p .. 'h:' .. host, 'n', -1) end
    redis.call('LPUSH', p .. 'q:' .. host, entry)
    if redis.call('HGET', p .. 'h:' .. host, 'g') then
      redis.call('HINCRBY', p .. 'counts', 'deferred', 1)
    else
      wake(host)
    end
  end
end
if alone then
  for _, host in ipairs(redis.call('SMEMBERS', p .. 'down')) do
    redis.call('HDEL', p .. 'h:' .. host, 'g', 'f')
    if redis.call('LLEN', p .. 'q:' .. host) > 0 then wake(host) end
  end
  redis.call('DEL', p .. 'down')
  while true do
    local deferred = redis.call('LPOP', p .. 'deferred')
    if not deferred then break end
    local host, entry = deferred:match('^([^\n]*)\n(.*)$')
    redis.call('LPUSH', p .. 'q:' .. host, '\0' .. entry:sub(2))
    wake(host)
  end
  if redis.call('HEXISTS', p .. 'counts', 'deferred') == 1 then
    redis.call('HSET', p .. 'counts', 'deferred', 0)
  end
end
return 1
