/**
 * Tracks how large the stored streams of this node's sessions are, so that each stays within its limit. A stream has a single writer, so
 * the writer can keep count.
 *
 * The tracker itself is bounded too. A session that another node took over is never removed here, so the streams that have been idle the
 * longest are dropped.
 */

/** Maximum length of one stream's events. Beyond it, the oldest writes are dropped, but never the newest. */
const maxPerStream = 4 * 1024 * 1024
/** Length at which consecutive writes start a new part. */
const maxPerPart = 64 * 1024
/**
 * Maximum number of tracked streams. Beyond it, the stream that has been idle the longest starts over at 0, so it may use twice as much.
 */
const maxStreams = 4096

/** Consecutive writes. */
interface Part {
  /** Position of the first event. */
  readonly first: number
  writes: number
  size: number
}

interface StreamParts {
  parts: Array<Part>
  size: number
}

export class Sizes {
  /** By session and name, longest idle first. */
  private readonly streams = new Map<string, StreamParts>()
  /** Each session's stream names. */
  private readonly names = new Map<string, Set<string>>()

  /** Number of tracked streams. */
  get count(): number {
    return this.streams.size
  }

  /** Counts a write. Returns how many of the oldest writes to drop, and the position of the first one to keep. */
  add(
    session: string,
    stream: string,
    first: number,
    size: number
  ): { readonly dropped: number; readonly from: number } {
    const stored = this.touched(session, stream)
    let part = stored.parts.at(-1)
    if (part === undefined || part.size + size > maxPerPart) stored.parts.push((part = { first, writes: 0, size: 0 }))
    part.writes++
    part.size += size
    stored.size += size
    let dropped = 0
    while (stored.size > maxPerStream && stored.parts.length > 1) {
      const oldest = stored.parts.shift()
      stored.size -= oldest?.size ?? 0
      dropped += oldest?.writes ?? 0
    }
    return { dropped, from: dropped === 0 ? 0 : (stored.parts[0]?.first ?? first) }
  }

  private touched(session: string, stream: string): StreamParts {
    const key = `${session} ${stream}`
    const stored = this.streams.get(key) ?? { parts: [], size: 0 }
    this.streams.delete(key)
    this.streams.set(key, stored)
    const names = this.names.get(session) ?? new Set()
    this.names.set(session, names.add(stream))
    for (const silent of this.streams.keys()) {
      if (this.streams.size <= maxStreams) break
      const at = silent.indexOf(" ")
      this.forget(silent.slice(0, at), silent.slice(at + 1))
    }
    return stored
  }

  forget(session: string, stream: string | undefined): void {
    const names = this.names.get(session)
    for (const name of stream === undefined ? (names ?? []) : [stream]) {
      this.streams.delete(`${session} ${name}`)
      names?.delete(name)
    }
    if (names?.size === 0) this.names.delete(session)
  }
}
