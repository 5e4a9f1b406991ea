
@dPZHºfirstX
@ÈPZHºs