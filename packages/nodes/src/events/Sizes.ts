/**
 * How much the streams of this node's sessions keep, so that none keeps more than it may. A stream has one writer, so that it knows.
 *
 * Owns its own limit: a session that another node took over is never forgotten here, so that streams that were silent for longest are.
 */

/** Length of the events of one stream; above it its oldest writes are dropped, never the newest. */
const maxPerStream = 4 * 1024 * 1024
/** Length from which on writes are counted apart from those after them. */
const maxPerPart = 64 * 1024
/** Streams that are counted. One that was silent for longest counts from 0 again, so that it may keep twice as much. */
const maxStreams = 4096

/** Consecutive writes. */
interface Part {
  /** The place of their first event. */
  readonly first: number
  writes: number
  size: number
}

interface Kept {
  parts: Array<Part>
  size: number
}

export class Sizes {
  /** By session and name; the one that was silent for longest first. */
  private readonly streams = new Map<string, Kept>()
  /** The names of a session's streams. */
  private readonly names = new Map<string, Set<string>>()

  /** How many streams are counted. */
  get count(): number {
    return this.streams.size
  }

  /** Counts a write; gives how many of the oldest writes are to be dropped, and the place of the first that stays. */
  add(
    session: string,
    stream: string,
    first: number,
    size: number
  ): { readonly dropped: number; readonly from: number } {
    const kept = this.touched(session, stream)
    let part = kept.parts.at(-1)
    if (part === undefined || part.size + size > maxPerPart) kept.parts.push((part = { first, writes: 0, size: 0 }))
    part.writes++
    part.size += size
    kept.size += size
    let dropped = 0
    while (kept.size > maxPerStream && kept.parts.length > 1) {
      const oldest = kept.parts.shift()
      kept.size -= oldest?.size ?? 0
      dropped += oldest?.writes ?? 0
    }
    return { dropped, from: dropped === 0 ? 0 : (kept.parts[0]?.first ?? first) }
  }

  private touched(session: string, stream: string): Kept {
    const key = `${session} ${stream}`
    const kept = this.streams.get(key) ?? { parts: [], size: 0 }
    this.streams.delete(key)
    this.streams.set(key, kept)
    const names = this.names.get(session) ?? new Set()
    this.names.set(session, names.add(stream))
    for (const silent of this.streams.keys()) {
      if (this.streams.size <= maxStreams) break
      const at = silent.indexOf(" ")
      this.forget(silent.slice(0, at), silent.slice(at + 1))
    }
    return kept
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
