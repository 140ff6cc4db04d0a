// node:util/types: the type of a value by the engine's own marks, not by its prototype.

const tagOf = (v: unknown): string => Object.prototype.toString.call(v).slice(8, -1);

/** Whether look, a function of the engine that accepts one kind of object only, accepts v. */
function accepts(look: (this: any) => unknown, v: unknown): boolean {
	if (typeof v !== "object" || v === null) return false;
	try {
		look.call(v);
		return true;
	} catch {
		return false;
	}
}

const getter = (proto: object, name: string | symbol): ((this: any) => any) =>
	Object.getOwnPropertyDescriptor(proto, name)!.get!;

const mapSize = getter(Map.prototype, "size");
const setSize = getter(Set.prototype, "size");
const regExpSource = getter(RegExp.prototype, "source");
const bufferLength = getter(ArrayBuffer.prototype, "byteLength");
const viewOffset = getter(DataView.prototype, "byteOffset");
const arrayName = getter(Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag);

function weakMapHas(this: any): unknown {
	return WeakMap.prototype.has.call(this, {});
}
function weakSetHas(this: any): unknown {
	return WeakSet.prototype.has.call(this, {});
}

const typedArray = (name?: string) => (v: unknown): boolean => {
	const found = typeof v === "object" && v !== null ? arrayName.call(v) : undefined;
	return name === undefined ? found !== undefined : found === name;
};

const functionTag = (...tags: string[]) => (v: unknown): boolean => typeof v === "function" && tags.includes(tagOf(v));
const tagged = (...tags: string[]) => (v: unknown): boolean => typeof v === "object" && v !== null && tags.includes(tagOf(v));
const never = (): boolean => false;

const isMap = (v: unknown) => accepts(mapSize, v);
const isSet = (v: unknown) => accepts(setSize, v);
const isArrayBuffer = (v: unknown) => accepts(bufferLength, v);
const isSharedArrayBuffer = tagged("SharedArrayBuffer");
const isNumberObject = (v: unknown) => accepts(Number.prototype.valueOf, v);
const isStringObject = (v: unknown) => accepts(String.prototype.valueOf, v);
const isBooleanObject = (v: unknown) => accepts(Boolean.prototype.valueOf, v);
const isBigIntObject = (v: unknown) => accepts(BigInt.prototype.valueOf, v);
const isSymbolObject = (v: unknown) => accepts(Symbol.prototype.valueOf, v);

export default {
	isAnyArrayBuffer: (v: unknown) => isArrayBuffer(v) || isSharedArrayBuffer(v),
	isArgumentsObject: tagged("Arguments"),
	isArrayBuffer,
	isArrayBufferView: (v: unknown) => ArrayBuffer.isView(v),
	isAsyncFunction: functionTag("AsyncFunction", "AsyncGeneratorFunction"),
	isBigInt64Array: typedArray("BigInt64Array"),
	isBigIntObject,
	isBigUint64Array: typedArray("BigUint64Array"),
	isBooleanObject,
	isBoxedPrimitive: (v: unknown) =>
		isNumberObject(v) || isStringObject(v) || isBooleanObject(v) || isBigIntObject(v) || isSymbolObject(v),
	isCryptoKey: never,
	isDataView: (v: unknown) => accepts(viewOffset, v),
	isDate: (v: unknown) => accepts(Date.prototype.getTime, v),
	isExternal: never,
	isFloat32Array: typedArray("Float32Array"),
	isFloat64Array: typedArray("Float64Array"),
	isGeneratorFunction: functionTag("GeneratorFunction", "AsyncGeneratorFunction"),
	isGeneratorObject: tagged("Generator", "AsyncGenerator"),
	isInt16Array: typedArray("Int16Array"),
	isInt32Array: typedArray("Int32Array"),
	isInt8Array: typedArray("Int8Array"),
	isKeyObject: never,
	isMap,
	isMapIterator: tagged("Map Iterator"),
	isModuleNamespaceObject: tagged("Module"),
	isNativeError: (v: unknown) => v instanceof Error && (tagOf(v) === "Error" || Symbol.toStringTag in v),
	isNumberObject,
	isPromise: (v: unknown) => v instanceof Promise,
	isProxy: never,
	isRegExp: (v: unknown) => v !== RegExp.prototype && accepts(regExpSource, v),
	isSet,
	isSetIterator: tagged("Set Iterator"),
	isSharedArrayBuffer,
	isStringObject,
	isSymbolObject,
	isTypedArray: typedArray(),
	isUint16Array: typedArray("Uint16Array"),
	isUint32Array: typedArray("Uint32Array"),
	isUint8Array: typedArray("Uint8Array"),
	isUint8ClampedArray: typedArray("Uint8ClampedArray"),
	isWeakMap: (v: unknown) => accepts(weakMapHas, v),
	isWeakSet: (v: unknown) => accepts(weakSetHas, v),
};
