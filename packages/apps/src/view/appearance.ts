/** Applies the host's theme to the page. Views use its CSS variables with fallbacks: `var(--color-text-primary, black)`. */
import type { HostContext } from "./types.ts"

const fontsId = "effect-mcp-host-fonts"

export const applyContext = ({ styles = {}, theme }: HostContext): void => {
  const { dataset, style } = document.documentElement
  if (theme !== undefined) {
    style.colorScheme = theme
    dataset["theme"] = theme
  }
  for (const [name, value] of Object.entries(styles.variables ?? {})) {
    if (name.startsWith("--") && value !== undefined) style.setProperty(name, value)
  }
  const fonts = styles.css?.fonts
  if (fonts === undefined) return
  const element = document.getElementById(fontsId) ?? document.head.appendChild(document.createElement("style"))
  element.id = fontsId
  element.textContent = fonts
}
