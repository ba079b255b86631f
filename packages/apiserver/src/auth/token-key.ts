import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { join } from "node:path";
import { readFileIfAny, writePrivateFile } from "../private-file.ts";
import { keyIdOf, type TokenKey } from "./jwt.ts";

/** The key that signs tokens of service accounts. It is kept in the data folder and created when missing or unreadable. */
export function tokenKey(folder: string | undefined): TokenKey {
  const path = folder === undefined ? undefined : join(folder, "service-account.key");
  const kept = path === undefined ? undefined : readKey(readFileIfAny(path));
  const privateKey = kept ?? generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
  if (kept === undefined && path !== undefined) {
    writePrivateFile(path, privateKey.export({ type: "pkcs8", format: "pem" }));
  }
  const publicKey = createPublicKey(privateKey);
  return { id: keyIdOf(publicKey), privateKey, publicKey };
}

function readKey(pem: string | undefined): KeyObject | undefined {
  if (pem === undefined) return undefined;
  try {
    const key = createPrivateKey(pem);
    return key.asymmetricKeyDetails?.namedCurve === "prime256v1" ? key : undefined;
  } catch {
    return undefined;
  }
}
