interface Named {
  readonly name: string
  readonly description: string
}
export declare const info: { readonly name: string; readonly version: string }
export declare const fillers: ReadonlyArray<string>
export declare const echo: Named
export declare const add: Named
export declare const wait: Named
export declare const waits: number
export declare const flood: Named
export declare const report: Named
export declare const hold: Named
export declare const descriptionOf: (name: string) => string
export declare const queryDescription: string
export declare const limitDescription: string
export declare const modern: string
export declare const resource: {
  readonly uri: string
  readonly name: string
  readonly mimeType: string
  readonly text: string
}
export declare const flag: (name: string) => boolean
export declare const ready: (port: number) => void
