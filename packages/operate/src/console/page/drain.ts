/** The dialog that drains a server, or one of its nodes. */
import type { Snapshot } from "../../admin/Admin.ts"
import { type Api, RequestRefused } from "./api.ts"
import { byId, h, setText } from "./dom.ts"
import { drainOf } from "./model.ts"

export class DrainDialog {
  private readonly dialog = byId("drain-dialog", HTMLDialogElement)
  private readonly open = byId("drain", HTMLButtonElement)
  private readonly node = byId("drain-node", HTMLSelectElement)
  private readonly error = byId("drain-error", HTMLElement)
  private readonly api: Api
  private readonly said: (text: string) => void

  constructor(api: Api, said: (text: string) => void) {
    this.api = api
    this.said = said
    this.open.addEventListener("click", () => this.ask())
    byId("drain-cancel", HTMLButtonElement).addEventListener("click", () => this.dialog.close())
    byId("drain-form", HTMLFormElement).addEventListener("submit", (event) => {
      event.preventDefault()
      void this.begin()
    })
  }

  /** Opens the dialog, for this node if one is given. */
  ask(node?: string): void {
    setText(this.error, "")
    if (node !== undefined) this.node.value = node
    this.dialog.showModal()
  }

  /** Updates the dialog. `maySteer` decides whether it has a button. */
  show(snapshot: Pick<Snapshot, "draining" | "nodes">, maySteer: boolean): void {
    const { isOffered, nodes = [] } = drainOf(snapshot, maySteer)
    this.open.hidden = !isOffered
    this.node.hidden = snapshot.nodes === undefined
    const shown = [...this.node.options].map(({ value }) => value)
    if (shown.join() !== nodes.join()) {
      this.node.replaceChildren(...nodes.map((name) => h("option", { value: name }, name)))
    }
  }

  private async begin(): Promise<void> {
    try {
      const began = await this.api.drain(this.node.hidden ? undefined : this.node.value)
      this.dialog.close()
      this.said(began ? "The server is now draining" : "The server is already draining")
    } catch (error) {
      setText(this.error, error instanceof RequestRefused ? error.message : "The request failed")
    }
  }
}
