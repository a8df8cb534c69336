export declare const url: string
export declare const modern: boolean
export declare const serve: (
  call: (params: {
    readonly name: string
    readonly arguments: { readonly [name: string]: unknown }
  }) => Promise<unknown>
) => void
