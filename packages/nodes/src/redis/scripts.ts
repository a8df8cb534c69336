/** Directory operations that need more than one command, as scripts that Redis runs atomically. */

/** Renews a node's lease unless it has ended. `KEYS`: the node. `ARGV`: grace, lease and grace in milliseconds. */
export const renew = `
if redis.call('PTTL', KEYS[1]) <= tonumber(ARGV[1]) then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])`

/**
 * Returns the session, and takes it over if its node's lease has ended. `KEYS`: the session. `ARGV`: this node, the node key prefix,
 * milliseconds.
 */
export const claim = `
local node = redis.call('HGET', KEYS[1], 'node')
if not node then return false end
if node ~= ARGV[1] and redis.call('EXISTS', ARGV[2] .. node) == 0 then
  redis.call('HSET', KEYS[1], 'node', ARGV[1])
  redis.call('HINCRBY', KEYS[1], 'epoch', 1)
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
end
return redis.call('HMGET', KEYS[1], 'node', 'epoch', 'record')`

/** Moves a session from one node to another, if it belongs to the first. `KEYS`: the session. `ARGV`: both nodes, milliseconds. */
export const pass = `
if redis.call('HGET', KEYS[1], 'node') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'node', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1`

/** Replaces the record of one of this node's sessions. `KEYS`: the session. `ARGV`: this node, the record. */
export const save = `
if redis.call('HGET', KEYS[1], 'node') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'record', ARGV[2])
return 1`

/** Removes this node's sessions and ignores all others. `KEYS`: the sessions. `ARGV`: this node. */
export const close = `
for _, key in ipairs(KEYS) do
  if redis.call('HGET', key, 'node') == ARGV[1] then redis.call('DEL', key) end
end
return 1`

/** Appends events to an existing session. `KEYS`: session, stream, names of streams. `ARGV`: batch, name, number to drop, milliseconds. */
export const append = `
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
redis.call('RPUSH', KEYS[2], ARGV[1])
redis.call('SADD', KEYS[3], ARGV[2])
if tonumber(ARGV[3]) > 0 then redis.call('LTRIM', KEYS[2], ARGV[3], -1) end
redis.call('PEXPIRE', KEYS[2], ARGV[4])
redis.call('PEXPIRE', KEYS[3], ARGV[4])
return 1`

/** Records the first use of a state, or returns the earlier record. `KEYS`: the state. `ARGV`: the record, milliseconds since 1970. */
export const begin = `
local time = redis.call('TIME')
if tonumber(ARGV[2]) <= time[1] * 1000 + math.floor(time[2] / 1000) then return 'expired' end
local noted = redis.call('GET', KEYS[1])
if noted then return noted end
redis.call('SET', KEYS[1], ARGV[1], 'PXAT', ARGV[2])
return 'first'`

/** Deducts usage from buckets, and returns their remaining tokens. `KEYS`: the buckets. `ARGV`: each bucket's rate and usage. */
export const settle = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local left = {}
for at, key in ipairs(KEYS) do
  local rate = tonumber(ARGV[2 * at - 1])
  local known = redis.call('HMGET', key, 'tokens', 'at')
  local tokens = 2 * rate
  if known[1] then
    tokens = math.min(tokens, known[1] + rate * math.max(0, now - known[2]) / 1000)
  end
  tokens = tokens - ARGV[2 * at]
  redis.call('HSET', key, 'tokens', tostring(tokens), 'at', string.format('%d', now))
  redis.call('PEXPIRE', key, string.format('%d', math.ceil((2 * rate - tokens) / rate * 1000) + 1000))
  left[at] = tostring(tokens)
end
return left`
