/**
 * The tree of groups and requests. Only the rows in view are elements, so that tens of thousands cost nothing. They are reused by key, so
 * that focus, selection and screen readers keep their place.
 *
 * Keys: up, down, page up, page down, home and end move; left and right collapse and expand a group; enter selects; i interrupts.
 */
import type { RequestRow } from "../../admin/Admin.ts"
import { h, setText } from "./dom.ts"
import type { Group } from "./groups.ts"
import { age, bytes, countOf, requestMore, requestTitle, warmth } from "./model.ts"

/** Height of each row in pixels, as in the style sheet. */
const rowHeight = 46
/** Number of rows to draw above and below the visible ones. */
const margin = 8

/** A request, or a group of requests with the session that it represents. */
export type Selection =
  | { readonly request: string }
  | { readonly group: string; readonly session: string | undefined; readonly isSession: boolean }

export const keyOf = (selection: Selection): string =>
  "request" in selection ? `request ${selection.request}` : selection.group

const selectionOf = ({ id, key }: Group): Selection => ({
  group: key,
  session: id,
  isSession: key.startsWith("session ")
})

/** A row in the tree. Its texts are only created when it comes into view. */
interface Entry {
  readonly key: string
  readonly selection: Selection
  readonly level: number
  /** `undefined` if there is nothing to expand. */
  readonly isOpen: boolean | undefined
  /** Position among its siblings, from 1, and their number. */
  readonly place: readonly [at: number, of: number]
  readonly item: () => Item
}

interface Item {
  readonly badge: string
  readonly look: string
  readonly title: string
  readonly more: string
  readonly since: number | undefined
  readonly progress: RequestRow["progress"]
  /** True if its color gets warmer with its age. */
  readonly isTimed: boolean
}

const requestItem = (row: RequestRow, isAlone: boolean): Item => ({
  badge: row.kind === "task" ? `task ${row.state}` : row.kind === "request" ? row.state : row.kind,
  look: row.kind === "request" || row.kind === "task" ? row.state : row.kind,
  title: requestTitle(row),
  more: requestMore(row, isAlone),
  since: row.since,
  progress: row.progress,
  isTimed: row.kind !== "subscription"
})

const groupItem = ({ id, key, rows, session, title }: Group): Item => {
  const unread =
    session?.backlog === undefined || session.backlog === 0 ? undefined : `${bytes(session.backlog)} unread`
  const count = countOf(rows.map(({ row }) => row))
  const isSession = key.startsWith("session ")
  return {
    badge: isSession ? (session?.transport ?? "POST") : `${rows.length}`,
    look: "session",
    title,
    more: [session?.node, session?.revision, count, unread, id].filter(Boolean).join(" · "),
    since: session?.since ?? (isSession ? undefined : rows[0]?.row.since),
    progress: undefined,
    isTimed: false
  }
}

const entriesOf = (group: Group, isOpen: boolean, place: Entry["place"]): ReadonlyArray<Entry> => {
  const below = isOpen ? group.rows : []
  return [
    {
      key: group.key,
      selection: selectionOf(group),
      level: 1,
      isOpen: group.rows.length === 0 ? undefined : isOpen,
      place,
      item: () => groupItem(group)
    },
    ...below.map(({ level, row }, i): Entry => ({
      key: `request ${row.key}`,
      selection: { request: row.key },
      level,
      isOpen: undefined,
      place: [i + 1, below.length],
      item: () => requestItem(row, group.session === undefined)
    }))
  ]
}

class Row {
  readonly element: HTMLElement
  private item: Item
  private readonly badge = h("span", { class: "badge" })
  private readonly title = h("span", { class: "title" })
  private readonly age = h("span", { class: "age" })
  private readonly more = h("span", { class: "more" })
  private readonly bar = h("progress", { hidden: true })
  private readonly text = h("span")

  constructor(entry: Entry) {
    this.item = entry.item()
    this.more.append(this.bar, this.text)
    this.element = h(
      "div",
      { role: "treeitem", tabindex: -1, "data-key": entry.key },
      this.badge,
      this.title,
      this.age,
      this.more
    )
    this.update(entry)
  }

  update({ isOpen, item, level, place }: Entry): void {
    this.item = item()
    const { badge, look, more, progress, title } = this.item
    this.element.className = `row ${level === 1 ? "session" : ""}`
    this.badge.className = `badge ${look}`
    this.element.ariaLevel = `${level}`
    this.element.ariaPosInSet = `${place[0]}`
    this.element.ariaSetSize = `${place[1]}`
    this.element.title = more === "" ? title : `${title}\n${more}`
    if (isOpen === undefined) this.element.removeAttribute("aria-expanded")
    else this.element.ariaExpanded = `${isOpen}`
    setText(this.badge, badge)
    setText(this.title, isOpen === false ? `${title} …` : title)
    setText(this.text, more)
    this.bar.hidden = progress?.total === undefined
    if (progress?.total === undefined) return
    this.bar.max = progress.total
    this.bar.value = progress.progress
    this.bar.ariaLabel = `${progress.progress} of ${progress.total}`
  }

  place(index: number): void {
    this.element.style.transform = `translateY(${index * rowHeight}px)`
  }

  tick(now: number): void {
    const { isTimed, since } = this.item
    setText(this.age, since === undefined ? "" : age(now - since))
    this.element.dataset["warmth"] = `${isTimed && since !== undefined ? warmth(now - since) : 0}`
  }
}

export interface Actions {
  readonly select: (selection: Selection) => void
  readonly interrupt: (selection: Selection) => void
}

export class TreePanel {
  private readonly element: HTMLElement
  private readonly body = h("div", { class: "rows", role: "presentation" })
  private readonly actions: Actions
  private readonly rows = new Map<string, Row>()
  private readonly closed = new Set<string>()
  private entries: ReadonlyArray<Entry> = []
  private at = new Map<string, number>()
  private groups: ReadonlyArray<Group> = []
  private selected: string | undefined = undefined
  private current: string | undefined = undefined
  private now = 0

  constructor(element: HTMLElement, actions: Actions) {
    this.element = element
    this.actions = actions
    element.append(this.body)
    element.addEventListener("click", ({ target }) => {
      const item = target instanceof Element ? this.itemAt(target) : undefined
      if (item !== undefined) this.choose(item)
    })
    element.addEventListener("keydown", (event) => this.pressed(event))
    element.addEventListener("scroll", () => this.draw(), { passive: true })
    new ResizeObserver(() => this.draw()).observe(element)
  }

  show(groups: ReadonlyArray<Group>, selection: Selection | undefined): void {
    this.groups = groups
    this.selected = selection === undefined ? undefined : keyOf(selection)
    this.entries = groups.flatMap((group, i) => entriesOf(group, !this.closed.has(group.key), [i + 1, groups.length]))
    this.at = new Map(this.entries.map(({ key }, i) => [key, i]))
    // The tab key reaches one row, which is the last row that had focus, or the first row.
    if (this.current === undefined || !this.at.has(this.current)) this.current = this.entries[0]?.key
    this.body.style.height = `${this.entries.length * rowHeight}px`
    this.draw()
  }

  tick(now: number): void {
    this.now = now
    for (const row of this.rows.values()) row.tick(now)
  }

  focus(): void {
    this.go(this.entries[this.at.get(this.current ?? "") ?? 0])
  }

  /** Draws the rows in view, and the row that has focus. */
  private draw(): void {
    const { clientHeight, scrollTop } = this.element
    const first = Math.max(0, Math.floor(scrollTop / rowHeight) - margin)
    const shown = new Set<number>()
    const last = Math.min(this.entries.length, Math.ceil((scrollTop + clientHeight) / rowHeight) + margin)
    const current = this.at.get(this.current ?? "")
    if (current !== undefined && current < first) shown.add(current)
    for (let i = first; i < last; i++) shown.add(i)
    if (current !== undefined && current >= last) shown.add(current)
    const keys = new Set([...shown].map((i) => this.entries[i]?.key))
    for (const [key, row] of this.rows) {
      if (keys.has(key)) continue
      row.element.remove()
      this.rows.delete(key)
    }
    let position = 0
    for (const i of shown) {
      const item = this.entries[i]
      if (item === undefined) continue
      const { element } = this.rowOf(item, i)
      const there = this.body.children[position++]
      if (there !== element) this.body.insertBefore(element, there ?? null)
    }
  }

  private rowOf(item: Entry, index: number): Row {
    const row = this.rows.get(item.key) ?? new Row(item)
    this.rows.set(item.key, row)
    row.update(item)
    row.place(index)
    row.element.tabIndex = item.key === this.current ? 0 : -1
    row.element.ariaSelected = `${item.key === this.selected}`
    row.tick(this.now)
    return row
  }

  private itemAt(target: Element): Entry | undefined {
    const key = target.closest("[data-key]")?.getAttribute("data-key") ?? ""
    return this.entries[this.at.get(key) ?? -1]
  }

  /** Moves the focus, and scrolls as little as necessary. */
  private go(item: Entry | undefined): void {
    if (item === undefined) return
    this.current = item.key
    const top = (this.at.get(item.key) ?? 0) * rowHeight
    const { clientHeight, scrollTop } = this.element
    if (top < scrollTop) this.element.scrollTop = top
    else if (top + rowHeight > scrollTop + clientHeight) this.element.scrollTop = top + rowHeight - clientHeight
    this.draw()
    this.rows.get(item.key)?.element.focus({ preventScroll: true })
  }

  private choose(item: Entry): void {
    this.go(item)
    this.actions.select(item.selection)
  }

  private toggle(item: Entry, open: boolean): void {
    if (item.isOpen === undefined || item.isOpen === open) return
    if (open) this.closed.delete(item.key)
    else this.closed.add(item.key)
    this.show(this.groups, this.entries.find(({ key }) => key === this.selected)?.selection)
  }

  private pressed(event: KeyboardEvent): void {
    const item = event.target instanceof Element ? this.itemAt(event.target) : undefined
    if (item === undefined || event.ctrlKey || event.metaKey || event.altKey) return
    const at = this.at.get(item.key) ?? 0
    const page = Math.max(1, Math.floor(this.element.clientHeight / rowHeight) - 1)
    const to = (index: number) => this.go(this.entries[Math.min(this.entries.length - 1, Math.max(0, index))])
    const keys: Readonly<Record<string, () => void>> = {
      ArrowDown: () => to(at + 1),
      ArrowUp: () => to(at - 1),
      PageDown: () => to(at + page),
      PageUp: () => to(at - page),
      Home: () => to(0),
      End: () => to(this.entries.length - 1),
      ArrowRight: () => (item.isOpen === false ? this.toggle(item, true) : item.isOpen && to(at + 1)),
      ArrowLeft: () =>
        item.isOpen === true
          ? this.toggle(item, false)
          : this.go(this.entries.slice(0, at).findLast((above) => above.level < item.level)),
      Enter: () => this.choose(item),
      " ": () => this.choose(item),
      i: () => this.actions.interrupt(item.selection)
    }
    const act = keys[event.key]
    if (act === undefined) return
    event.preventDefault()
    act()
  }
}
