/** The events of a run, line by line. Random ids of sessions, tasks and spans are numbered, so that equal runs have equal traces. */

/** Matches UUIDs and the ids of traces, spans and tasks. */
const random =
  /[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|\b(?:[0-9a-f]{16}|[0-9a-f]{32})\b|(?<![\w-])t[\w-]{43}(?![\w-])/g

export class Trace {
  readonly lines: Array<string> = []
  private isOver = false
  private readonly names = new Map<string, string>()
  private readonly now: () => number

  constructor(now: () => number) {
    this.now = now
  }

  /** Marks that everything from now on belongs to the shutdown. */
  end(): void {
    this.isOver = true
  }

  add(text: string): void {
    if (this.isOver) return
    this.lines.push(`${this.now()} ms  ${text.replace(random, (name) => this.nameOf(name))}`)
  }

  private nameOf(id: string): string {
    const name = this.names.get(id) ?? `id-${this.names.size + 1}`
    this.names.set(id, name)
    return name
  }
}
