/**
 * How much the streams of this node's sessions keep, so that none keeps more than it may. A stream has one writer, so that it knows.
 */

/** Length of the events of one stream; above it its oldest writes are dropped, never the newest. */
const maxPerStream = 4 * 1024 * 1024

interface Write {
  readonly first: number
  readonly size: number
}

interface Kept {
  writes: Array<Write>
  size: number
}

export class Sizes {
  private readonly sessions = new Map<string, Map<string, Kept>>()

  /** Counts a write; gives how many of the oldest writes are to be dropped, and the place of the first that stays. */
  add(
    session: string,
    stream: string,
    first: number,
    size: number
  ): { readonly dropped: number; readonly from: number } {
    const streams = this.sessions.get(session) ?? new Map<string, Kept>()
    this.sessions.set(session, streams)
    const kept = streams.get(stream) ?? { writes: [], size: 0 }
    streams.set(stream, kept)
    kept.writes.push({ first, size })
    kept.size += size
    if (kept.size <= maxPerStream) return { dropped: 0, from: 0 }
    let dropped = 0
    while (kept.size > maxPerStream && dropped < kept.writes.length - 1) kept.size -= kept.writes[dropped++]?.size ?? 0
    kept.writes = kept.writes.slice(dropped)
    return { dropped, from: kept.writes[0]?.first ?? first }
  }

  forget(session: string, stream: string | undefined): void {
    if (stream === undefined) this.sessions.delete(session)
    const streams = this.sessions.get(session)
    if (stream !== undefined) streams?.delete(stream)
    if (streams?.size === 0) this.sessions.delete(session)
  }
}
