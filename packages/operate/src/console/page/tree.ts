/**
 * The tree of sessions and requests. Rows are kept by their keys, so that focus, selection and what is read aloud stay where they are.
 *
 * Keys: up, down, home, end move; left and right close and open a session; enter selects; i interrupts.
 */
import type { RequestRow } from "../../admin/Admin.ts"
import { h, setText } from "./dom.ts"
import { age, bytes, type Group, requestMore, requestTitle, titleOf } from "./model.ts"

/** Rows beyond it are not drawn: a search narrows them. */
export const rowsAtMost = 400

export type Selection = { readonly session: string | undefined } | { readonly request: string }

export const keyOf = (selection: Selection): string =>
  "request" in selection ? `request ${selection.request}` : `session ${selection.session ?? ""}`

interface Item {
  readonly key: string
  readonly selection: Selection
  readonly level: number
  readonly badge: string
  readonly look: string
  readonly title: string
  readonly more: string
  readonly since: number | undefined
  readonly progress: RequestRow["progress"]
  readonly isOpen: boolean | undefined
}

const requestItem = (row: RequestRow, level: number, isAlone: boolean): Item => {
  const selection = { request: row.key }
  return {
    key: keyOf(selection),
    selection,
    level,
    badge: row.kind === "task" ? `task ${row.state}` : row.kind === "request" ? row.state : row.kind,
    look: row.kind === "request" || row.kind === "task" ? row.state : row.kind,
    title: requestTitle(row),
    more: requestMore(row, isAlone),
    since: row.since,
    progress: row.progress,
    isOpen: undefined
  }
}

const sessionItem = (group: Group, isOpen: boolean): Item => {
  const { id, rows, session } = group
  const selection = { session: id }
  const unread =
    session?.backlog === undefined || session.backlog === 0 ? undefined : `${bytes(session.backlog)} unread`
  const count = `${rows.length} ${rows.length === 1 ? "request" : "requests"}`
  return {
    key: keyOf(selection),
    selection,
    level: 1,
    badge: session?.transport ?? "POST",
    look: "session",
    title: titleOf(group),
    more: [session?.node, session?.revision, session === undefined ? undefined : count, unread, id]
      .filter(Boolean)
      .join(" · "),
    since: session?.since,
    progress: undefined,
    isOpen: rows.length === 0 ? undefined : isOpen
  }
}

class Row {
  readonly element: HTMLElement
  item: Item
  private readonly badge = h("span", { class: "badge" })
  private readonly title = h("span", { class: "title" })
  private readonly age = h("span", { class: "age" })
  private readonly more = h("span", { class: "more" })
  private readonly bar = h("progress", { hidden: true })
  private readonly text = h("span")

  constructor(item: Item) {
    this.item = item
    this.more.append(this.bar, this.text)
    this.element = h(
      "div",
      { role: "treeitem", tabindex: -1, "data-key": item.key },
      this.badge,
      this.title,
      this.age,
      this.more
    )
    this.update(item)
  }

  update(item: Item): void {
    this.item = item
    const { badge, isOpen, level, look, more, progress, title } = item
    this.element.className = `row ${level === 1 ? "session" : ""}`
    this.badge.className = `badge ${look}`
    this.element.ariaLevel = `${level}`
    if (isOpen === undefined) this.element.removeAttribute("aria-expanded")
    else this.element.ariaExpanded = `${isOpen}`
    setText(this.badge, badge)
    setText(this.title, isOpen === false ? `${title} …` : title)
    setText(this.text, more)
    this.bar.hidden = progress?.total === undefined
    this.more.hidden = more === "" && this.bar.hidden
    if (progress?.total === undefined) return
    this.bar.max = progress.total
    this.bar.value = progress.progress
    this.bar.ariaLabel = `${progress.progress} of ${progress.total}`
  }

  tick(now: number): void {
    const { since } = this.item
    setText(this.age, since === undefined ? "" : age(now - since))
  }
}

export interface Actions {
  readonly select: (selection: Selection) => void
  readonly interrupt: (key: string) => void
}

export class TreePanel {
  private readonly element: HTMLElement
  private readonly actions: Actions
  private readonly rows = new Map<string, Row>()
  private readonly closed = new Set<string>()
  private order: ReadonlyArray<Row> = []
  private groups: ReadonlyArray<Group> = []
  private selected: string | undefined = undefined
  private current: string | undefined = undefined
  private now = 0

  constructor(element: HTMLElement, actions: Actions) {
    this.element = element
    this.actions = actions
    element.addEventListener("click", ({ target }) => {
      const row = target instanceof Element ? this.rowAt(target) : undefined
      if (row !== undefined) this.choose(row)
    })
    element.addEventListener("keydown", (event) => this.pressed(event))
  }

  /** Gives how many rows were left out. */
  show(groups: ReadonlyArray<Group>, selection: Selection | undefined): number {
    this.groups = groups
    this.selected = selection === undefined ? undefined : keyOf(selection)
    const items = groups.flatMap((group) => {
      const isOpen = !this.closed.has(keyOf({ session: group.id }))
      const below = isOpen ? group.rows : []
      return [
        sessionItem(group, isOpen),
        ...below.map(({ level, row }) => requestItem(row, level, group.session === undefined))
      ]
    })
    const drawn = items.slice(0, rowsAtMost)
    const keys = new Set(drawn.map(({ key }) => key))
    for (const [key, row] of this.rows) {
      if (keys.has(key)) continue
      row.element.remove()
      this.rows.delete(key)
    }
    this.order = drawn.map((item) => this.rowOf(item))
    this.order.forEach(({ element }, i) => {
      const there = this.element.children[i]
      if (there !== element) this.element.insertBefore(element, there ?? null)
    })
    this.mark()
    this.tick(this.now)
    return items.length - drawn.length
  }

  tick(now: number): void {
    this.now = now
    for (const row of this.order) row.tick(now)
  }

  focus(): void {
    this.rows.get(this.current ?? "")?.element.focus()
  }

  private rowOf(item: Item): Row {
    const known = this.rows.get(item.key)
    if (known !== undefined) {
      known.update(item)
      return known
    }
    const made = new Row(item)
    this.rows.set(item.key, made)
    return made
  }

  /** One row is reached by the tab key: the last that had focus, or the first. */
  private mark(): void {
    if (this.current === undefined || !this.rows.has(this.current)) this.current = this.order[0]?.item.key
    for (const { element, item } of this.order) {
      element.tabIndex = item.key === this.current ? 0 : -1
      element.ariaSelected = `${item.key === this.selected}`
    }
  }

  private rowAt(target: Element): Row | undefined {
    return this.rows.get(target.closest("[data-key]")?.getAttribute("data-key") ?? "")
  }

  private go(row: Row | undefined): void {
    if (row === undefined) return
    this.current = row.item.key
    this.mark()
    row.element.focus()
  }

  private choose(row: Row): void {
    this.go(row)
    this.actions.select(row.item.selection)
  }

  private toggle(row: Row, open: boolean): void {
    if (row.item.isOpen === undefined || row.item.isOpen === open) return
    if (open) this.closed.delete(row.item.key)
    else this.closed.add(row.item.key)
    this.show(this.groups, this.order.find(({ item }) => item.key === this.selected)?.item.selection)
  }

  private pressed(event: KeyboardEvent): void {
    const row = event.target instanceof Element ? this.rowAt(event.target) : undefined
    if (row === undefined || event.ctrlKey || event.metaKey || event.altKey) return
    const at = this.order.indexOf(row)
    const { item } = row
    const keys: Readonly<Record<string, () => void>> = {
      ArrowDown: () => this.go(this.order[at + 1]),
      ArrowUp: () => this.go(this.order[at - 1]),
      Home: () => this.go(this.order[0]),
      End: () => this.go(this.order.at(-1)),
      ArrowRight: () => (item.isOpen === false ? this.toggle(row, true) : item.isOpen && this.go(this.order[at + 1])),
      ArrowLeft: () =>
        item.isOpen === true
          ? this.toggle(row, false)
          : this.go(this.order.slice(0, at).findLast((above) => above.item.level < item.level)),
      Enter: () => this.choose(row),
      " ": () => this.choose(row),
      i: () => "request" in item.selection && this.actions.interrupt(item.selection.request)
    }
    const act = keys[event.key]
    if (act === undefined) return
    event.preventDefault()
    act()
  }
}
