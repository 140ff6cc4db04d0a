function inner(): never {
  throw new RangeError("no such fixture");
}

inner();
