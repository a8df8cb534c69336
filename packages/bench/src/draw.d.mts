export declare const draw: (specification: object) => Promise<string>
