export * as Ui from "./Ui.ts"
