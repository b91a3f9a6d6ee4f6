// A browser that decodes no sound.

export const DEAF = { codec: undefined, decodes: (): Promise<boolean> => Promise.resolve(false) };
