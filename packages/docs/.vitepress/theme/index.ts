import type { Theme } from "vitepress"
import DefaultTheme from "vitepress/theme-without-fonts"
import { markMain } from "./landmark.ts"
import { followLanguage } from "./languages.ts"
import "./style.css"
import Terminal from "./Terminal.vue"

const theme: Theme = {
  extends: DefaultTheme,
  enhanceApp: ({ app }) => void app.component("Terminal", Terminal),
  setup: () => {
    followLanguage()
    markMain()
  }
}

export default theme
