/**
 * One server's pins, and the changes that are waiting for an answer. Judges each list page and the handshake as they arrive, and
 * removes everything that is not accepted.
 */
import { canonicalJson, digest } from "@effect-mcp/core/internal/digest"
import { isSame } from "@effect-mcp/core/internal/schemaDiff"
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import { type ListJudge, type PinFinding, judge, ofServer, worst } from "./Finding.ts"
import * as Offer from "./Offer.ts"

/** A changed item that is hidden until the change is accepted. */
export interface PinChange {
  /** The server's name in the program's table. */
  readonly server: string
  /** The item's list, or `server` for the server's name and instructions. */
  readonly list: Offer.PinnedList | "server"
  /** Name, URI or URI template of the item. Empty for the server. */
  readonly item: string
  /** The pinned declaration, or `undefined` if the item is new. */
  readonly before: unknown
  readonly after: unknown
  readonly findings: ReadonlyArray<PinFinding>
}

/** Result of judging a message from the server. */
export interface Judgement {
  /** The message without anything that is hidden. */
  readonly result: unknown
  /** Findings that were not reported before. */
  readonly findings: ReadonlyArray<PinFinding>
  /** Changes that nobody has been asked about yet. */
  readonly changes: ReadonlyArray<PinChange>
  /** True if the pins changed and must be stored. */
  readonly isNew: boolean
}

/** Limits and defaults for all servers. */
export interface PinLimits {
  readonly firstUse: "pin" | "refuse"
  /** Maximum number of lists with new changes per minute. */
  readonly maxChanges: number
}

/** Maximum number of changes that are waiting for an answer, and of reported declarations. */
const maxPending = 256
const maxKnown = 4096
/** Maximum length of a stored item's list and name. */
const maxId = 4096
/** Maximum number of findings to report for one page. */
const maxReported = 50
const minute = 60_000

const digestOf = (item: unknown): string => digest(canonicalJson(item))
const idOf = (list: Offer.PinnedList | "server", item: string): string => `${list} ${item}`

/** Collects the findings and changes in one message. */
class Outcome {
  readonly findings: Array<PinFinding> = []
  readonly changes: Array<PinChange> = []
  isNew = false

  judgement(result: unknown): Judgement {
    const { changes, findings, isNew } = this
    return { result, findings: findings.slice(0, maxReported), changes, isNew }
  }
}

export class PinnedServer {
  /** Items in lists that are being read for the first time. */
  private readonly reading = new Map<Offer.PinnedList, Map<string, JsonObject>>()
  /** Hidden items, by list and key: all pinned ones, and others up to `maxKnown`. */
  private readonly hidden = new Map<string, ReadonlyArray<PinFinding>>()
  /** Lists with more hidden items than fit. Only their pinned items can be used. */
  private readonly flooded = new Set<Offer.PinnedList | "server">()
  private readonly waiting = new Map<string, PinChange>()
  /** Declarations that were reported. */
  private readonly known = new Set<string>()
  /** Declarations that the user declined. */
  private readonly declined = new Set<string>()
  /** Times at which lists had new changes in the last minute. */
  private changed: Array<number> = []
  private readonly name: string
  private readonly pinned: Map<string, Offer.Offer>
  private readonly limits: PinLimits
  private readonly isLocked: boolean

  /** `pinned` holds the pins of all servers and is changed in place. */
  constructor(name: string, pinned: Map<string, Offer.Offer>, limits: PinLimits) {
    this.name = name
    this.pinned = pinned
    this.limits = limits
    this.isLocked = pinned.has(name)
  }

  private get offer(): Offer.Offer {
    return this.pinned.get(this.name) ?? Offer.empty
  }

  /** True if the server must not be pinned on first use. */
  private get isRefused(): boolean {
    return this.limits.firstUse === "refuse" && !this.isLocked && !this.pinned.has(this.name)
  }

  private setList(list: Offer.PinnedList, items: ReadonlyMap<string, JsonObject>): void {
    this.pinned.set(this.name, { ...this.offer, lists: new Map([...this.offer.lists, [list, items]]) })
  }

  private remember(id: string): boolean {
    if (this.known.has(id)) return false
    if (this.known.size >= maxKnown) this.known.clear()
    this.known.add(id)
    return true
  }

  /** True if the server changes too often. Counts this list, if it has new changes. */
  private isStorm(now: number): boolean {
    this.changed = this.changed.filter((time) => now - time < minute)
    if (this.changed.length >= this.limits.maxChanges) return true
    this.changed.push(now)
    return false
  }

  /** Returns the reasons why an item is hidden, or `undefined` if it isn't. */
  hiddenItem(list: Offer.PinnedList, item: string): ReadonlyArray<PinFinding> | undefined {
    const found = this.hidden.get(idOf(list, item))
    if (found !== undefined) return found
    const known = this.offer.lists.get(list)
    if (this.flooded.has(list) && this.declaration(list, item) === undefined) return [this.unpinnedItem(list, item)]
    // Resources may be read without having been listed, for example through a template.
    if (Offer.pinnedLists[list].key !== "name" || known?.has(item) === true) return undefined
    if (known === undefined && !this.isRefused) return undefined
    return [this.unpinnedItem(list, item)]
  }

  private unpinnedItem(list: Offer.PinnedList, item: string): PinFinding {
    const message = `The ${Offer.pinnedLists[list].noun} ${excerpt(JSON.stringify(item), 120)} is not pinned`
    return { server: this.name, list, item, verdict: "refuse", code: "unpinned", message }
  }

  /** Returns a pinned item. While a list is read for the first time, its items so far count as pinned. */
  declaration(list: Offer.PinnedList, item: string): JsonObject | undefined {
    return this.offer.lists.get(list)?.get(item) ?? this.reading.get(list)?.get(item)
  }

  /** Returns the digest of a pinned item. */
  pinOf(list: Offer.PinnedList, item: string): string | undefined {
    const found = this.declaration(list, item)
    return found === undefined ? undefined : digestOf(found)
  }

  /** Returns the changes that are waiting for an answer. */
  pending(): ReadonlyArray<PinChange> {
    return [...this.waiting.values()]
  }

  /** Accepts or declines a change. Returns false if the change is no longer waiting. */
  answer(change: PinChange, isAccepted: boolean): boolean {
    const id = idOf(change.list, change.item)
    if (this.waiting.get(id) !== change) return false
    const { after, item, list } = change
    this.waiting.delete(id)
    if (!isAccepted) {
      if (this.declined.size >= maxKnown) this.declined.clear()
      this.declined.add(`${id} ${digestOf(after)}`)
      return true
    }
    this.hidden.delete(id)
    if (!isJsonObject(after)) return true
    if (list === "server") this.pinned.set(this.name, { ...after, lists: this.offer.lists })
    else this.setList(list, new Map([...(this.offer.lists.get(list) ?? []), [item, after]]))
    return true
  }

  /** Hides an item, and asks about it unless its change is refused, declined or already asked about. */
  private hide(change: PinChange, outcome: Outcome, storm: () => boolean): void {
    const { findings, item, list } = change
    const id = idOf(list, item)
    const declaration = `${id} ${digestOf(change.after)}`
    const isRefused = worst(findings) === "refuse"
    const isPinned = list !== "server" && this.offer.lists.get(list)?.has(item) === true
    if (isPinned || (this.hidden.size < maxKnown && id.length <= maxId)) this.hidden.set(id, findings)
    else this.flooded.add(list)
    if (isRefused ? this.known.has(declaration) : this.isAnswered(id, declaration)) return
    this.waiting.delete(id)
    if (storm() || this.waiting.size >= maxPending) {
      const message = "The server changes too often. Further changes are rejected without asking"
      if (this.remember(`storm ${this.changed[0] ?? 0}`))
        outcome.findings.push({ server: this.name, list, item: "", verdict: "refuse", code: "storm", message })
      return
    }
    if (this.remember(declaration)) outcome.findings.push(...findings)
    if (isRefused) return
    this.waiting.set(id, change)
    outcome.changes.push(change)
  }

  private isAnswered(id: string, declaration: string): boolean {
    const waiting = this.waiting.get(id)
    const isWaiting = waiting !== undefined && declaration === `${id} ${digestOf(waiting.after)}`
    return isWaiting || this.declined.has(declaration)
  }

  /** Judges a list page. `first` is true if it is the first page of a new reading. */
  page(
    list: Offer.PinnedList,
    result: unknown,
    { first, now }: { readonly first: boolean; readonly now: number }
  ): Judgement {
    const outcome = new Outcome()
    const items = isJsonObject(result) ? result[list] : undefined
    if (!isJsonObject(result) || !Array.isArray(items)) return outcome.judgement(result)
    const locked = this.offer.lists.get(list)
    if (first && locked === undefined) this.reading.set(list, new Map())
    const reading = this.reading.get(list) ?? new Map<string, JsonObject>()
    const { item: findingsOf } = judge(this.pinned, this.name, list, locked)
    let repeated: ListJudge | undefined
    let counted: boolean | undefined
    const storm = () => (counted ??= this.isStorm(now))
    const next = new Map(locked ?? reading)
    const kept = items.filter((item: unknown) => {
      const key = Offer.keyOf(list, item)
      // The client's codec rejects the page.
      if (key === undefined || !isJsonObject(item)) return true
      const earlier = locked === undefined ? reading.get(key) : undefined
      const found: ReadonlyArray<PinFinding> = this.isRefused
        ? [this.unpinned(list, key)]
        : earlier === undefined
          ? findingsOf(key, item)
          : (repeated ??= judge(this.pinned, this.name, list, reading)).item(key, item)
      const verdict = worst(found)
      const isAllowed =
        verdict === undefined || verdict === "harmless" || (verdict === "ask" && locked === undefined && !earlier)
      if (!isAllowed) {
        const change = { server: this.name, list, item: key, before: (locked ?? reading).get(key), after: item }
        this.hide({ ...change, findings: found }, outcome, storm)
        return false
      }
      this.hidden.delete(idOf(list, key))
      this.waiting.delete(idOf(list, key))
      if (found.length > 0 && this.remember(`${idOf(list, key)} ${digestOf(item)}`)) outcome.findings.push(...found)
      next.set(key, item)
      outcome.isNew ||= locked !== undefined && found.length > 0
      return true
    })
    if (locked !== undefined) {
      if (outcome.isNew) this.setList(list, next)
    } else {
      this.reading.set(list, next)
      if (result["nextCursor"] === undefined && !this.isRefused) {
        this.reading.delete(list)
        this.setList(list, next)
        outcome.isNew = true
      }
    }
    const isComplete = kept.length === items.length
    // A cached page would still lack an item after its change is accepted.
    const ttl = isComplete || result["ttlMs"] === undefined ? undefined : { ttlMs: 0 }
    return outcome.judgement(isComplete ? result : { ...result, [list]: kept, ...ttl })
  }

  /**
   * Judges one item that was read without the list. If the list was not read yet, the item is pinned together with it, and until then counts
   * as pinned. Returns the findings if the item is hidden.
   */
  item(
    list: Offer.PinnedList,
    item: unknown,
    now: number
  ): Judgement & { readonly hidden?: ReadonlyArray<PinFinding> } {
    const judgement = this.page(list, { [list]: [item], nextCursor: "" }, { first: false, now })
    const key = Offer.keyOf(list, item)
    const isHidden = isJsonObject(judgement.result) && isSame(judgement.result[list], [])
    if (key === undefined || !isHidden) return judgement
    return { ...judgement, hidden: this.hiddenItem(list, key) ?? [this.unpinnedItem(list, key)] }
  }

  private unpinned(list: Offer.PinnedList, item: string): PinFinding {
    return {
      server: this.name,
      list,
      item,
      verdict: "refuse",
      code: "unpinned",
      message: "The server is not in the lock file"
    }
  }

  /** Judges the result of the handshake. Instructions that are not accepted are replaced with the pinned ones. */
  opening(result: unknown, now: number): Judgement {
    const outcome = new Outcome()
    if (!isJsonObject(result)) return outcome.judgement(result)
    const meta = result["_meta"]
    const info = result["serverInfo"] ?? (isJsonObject(meta) ? meta[Meta.serverInfo] : undefined)
    const text = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined)
    const { name, version } = isJsonObject(info) ? info : {}
    const after = { name: text(name), version: text(version), instructions: text(result["instructions"]) }
    const before = this.pinned.get(this.name)
    const found = this.isRefused ? [] : ofServer(this.name, before, after)
    const verdict = worst(found)
    const isAllowed = verdict === undefined || verdict === "harmless"
    if (!isAllowed) {
      const change = { server: this.name, list: "server", item: "", before, after, findings: found } as const
      this.hide(change, outcome, () => this.isStorm(now))
    } else if (!this.isRefused) {
      if (found.length > 0 && this.remember(idOf("server", digestOf(after)))) outcome.findings.push(...found)
      outcome.isNew = before === undefined || found.length > 0
      if (outcome.isNew) this.pinned.set(this.name, { ...after, lists: this.offer.lists })
    }
    if (before === undefined && !this.isRefused) this.pinUndeclared(result["capabilities"])
    const pinned = isAllowed && !this.isRefused ? after.instructions : this.offer.instructions
    if (pinned === after.instructions) return outcome.judgement(result)
    const { instructions: _, ...rest } = result
    return outcome.judgement(pinned === undefined ? rest : { ...rest, instructions: pinned })
  }

  /** Pins lists that a new server doesn't declare as empty, so that they can't appear later unnoticed. */
  private pinUndeclared(capabilities: unknown): void {
    const declared = isJsonObject(capabilities) ? capabilities : {}
    for (const list of Offer.listNames) {
      if (!Offer.pinnedLists[list].isDeclared(declared)) this.setList(list, new Map())
    }
  }
}
