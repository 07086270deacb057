// In: a role ("agent", "client"). Out: crypto.randomUUID answers the same ids in every recording, so that the truth
// beside the captures survives a new one. Nothing else is made predictable.
import { createHash } from 'node:crypto';

export function predictableIds(role) {
  let count = 0;
  const randomUUID = () => {
    const hex = createHash('sha256').update(`${role}:${count++}`).digest('hex');
    const variant = '89ab'[Number.parseInt(hex[16], 16) % 4];
    return [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`, variant + hex.slice(17, 20), hex.slice(20, 32)].join(
      '-',
    );
  };
  Object.defineProperty(globalThis.crypto, 'randomUUID', { value: randomUUID });
}
