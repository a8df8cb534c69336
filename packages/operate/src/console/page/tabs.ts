/** The page's tabs. Left, right, home and end move between them. */
import { byId } from "./dom.ts"

export const tabs = ["running", "tools", "problems", "nodes"] as const
export type Tab = (typeof tabs)[number]

const buttonOf = (tab: Tab) => byId(`tab-${tab}`, HTMLButtonElement)
export const panelOf = (tab: Tab): HTMLElement => byId(`panel-${tab}`, HTMLElement)

export const show = (tab: Tab): void => {
  for (const each of tabs) {
    const isShown = each === tab
    buttonOf(each).ariaSelected = `${isShown}`
    buttonOf(each).tabIndex = isShown ? 0 : -1
    panelOf(each).hidden = !isShown
  }
}

/** Adds the listeners. `shown` is called after an operator has changed the tab. */
export const listen = (shown: () => void): void => {
  const go = (tab: Tab | undefined) => {
    if (tab === undefined) return
    show(tab)
    buttonOf(tab).focus()
    shown()
  }
  for (const [i, tab] of tabs.entries()) {
    buttonOf(tab).addEventListener("click", () => go(tab))
    buttonOf(tab).addEventListener("keydown", (event) => {
      const to = {
        ArrowRight: tabs[(i + 1) % tabs.length],
        ArrowLeft: tabs[(i + tabs.length - 1) % tabs.length],
        Home: tabs[0],
        End: tabs.at(-1)
      }[event.key]
      if (to === undefined) return
      event.preventDefault()
      go(to)
    })
  }
}
