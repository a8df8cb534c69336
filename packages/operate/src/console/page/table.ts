/** A table that can be sorted by each of its columns. Rows are reused by key, so that focus stays where it is. */
import { h, setText } from "./dom.ts"

export interface Column<A> {
  readonly name: string
  /** Text, or a number to sort by. */
  readonly value: (row: A) => string | number | undefined
  /** Text to show for a number. Default: the value. */
  readonly show?: (row: A) => string
  readonly isNumber?: boolean
  /** Class of the cell. */
  readonly look?: (row: A) => string
  /** Action that makes the cell a button, or `undefined` for a row without an action. */
  readonly act?: (row: A) => (() => void) | undefined
}

interface Options<A> {
  readonly caption: string
  readonly columns: ReadonlyArray<Column<A>>
  readonly key: (row: A) => string
  /** Index of the initial sort column, and whether its largest value comes first. */
  readonly sort: readonly [column: number, descending: boolean]
}

const compare = (a: string | number | undefined, b: string | number | undefined): number => {
  if (a === undefined || b === undefined) return a === b ? 0 : a === undefined ? 1 : -1
  return typeof a === "number" && typeof b === "number" ? a - b : `${a}`.localeCompare(`${b}`)
}

class TableRow<A> {
  readonly element = h("tr")
  private readonly cells: ReadonlyArray<HTMLElement>
  private readonly columns: ReadonlyArray<Column<A>>
  private row: A

  constructor(columns: ReadonlyArray<Column<A>>, row: A) {
    this.columns = columns
    this.row = row
    this.cells = columns.map((column) => this.cellOf(column))
    this.element.append(...this.cells.map((cell) => cell.closest("td") ?? h("td", {}, cell)))
    this.update(row)
  }

  private cellOf({ act, isNumber }: Column<A>): HTMLElement {
    if (act === undefined) return h("td", { class: isNumber === true && "number" })
    const button = h("button", { type: "button", class: "link" })
    button.addEventListener("click", () => act(this.row)?.())
    return button
  }

  update(row: A): void {
    this.row = row
    for (const [i, column] of this.columns.entries()) {
      const cell = this.cells[i]
      if (cell === undefined) continue
      setText(cell, column.show?.(row) ?? `${column.value(row) ?? ""}`)
      if (cell instanceof HTMLButtonElement) cell.disabled = column.act?.(row) === undefined
      else cell.className = `${column.isNumber === true ? "number " : ""}${column.look?.(row) ?? ""}`
    }
  }
}

export class SortedTable<A> {
  readonly element: HTMLElement
  private readonly options: Options<A>
  private readonly body = h("tbody")
  private readonly heads: ReadonlyArray<HTMLElement>
  private readonly known = new Map<string, TableRow<A>>()
  private readonly empty = h("p", { class: "quiet" })
  private readonly table: HTMLElement
  private rows: ReadonlyArray<A> = []
  private sort: readonly [column: number, descending: boolean]

  constructor(options: Options<A>) {
    this.options = options
    this.sort = options.sort
    this.heads = options.columns.map(({ isNumber, name }, i) => {
      const button = h("button", { type: "button", class: "link" }, name)
      button.addEventListener("click", () => this.sortBy(i))
      return h("th", { scope: "col", class: isNumber === true && "number" }, button)
    })
    this.table = h(
      "table",
      {},
      h("caption", { class: "hidden" }, options.caption),
      h("thead", {}, h("tr", {}, ...this.heads)),
      this.body
    )
    this.element = h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": options.caption })
    this.element.append(this.table, this.empty)
  }

  private sortBy(column: number): void {
    const [current, descending] = this.sort
    this.sort = [column, current === column ? !descending : this.options.columns[column]?.isNumber === true]
    this.draw()
  }

  show(rows: ReadonlyArray<A>, empty: string): void {
    this.rows = rows
    setText(this.empty, rows.length === 0 ? empty : "")
    this.table.hidden = rows.length === 0
    this.draw()
  }

  private draw(): void {
    const { columns, key } = this.options
    const [at, descending] = this.sort
    const by = columns[at]
    for (const [i, head] of this.heads.entries()) {
      head.ariaSort = i === at ? (descending ? "descending" : "ascending") : "none"
    }
    const order = this.rows.toSorted((a, b) => compare(by?.value(a), by?.value(b)) * (descending ? -1 : 1))
    const keys = new Set(order.map(key))
    for (const [id, { element }] of this.known) {
      if (keys.has(id)) continue
      element.remove()
      this.known.delete(id)
    }
    order.forEach((row, i) => {
      const known = this.known.get(key(row)) ?? new TableRow(columns, row)
      known.update(row)
      this.known.set(key(row), known)
      const there = this.body.children[i]
      if (there !== known.element) this.body.insertBefore(known.element, there ?? null)
    })
  }
}
