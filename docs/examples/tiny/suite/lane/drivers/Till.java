package drivers;

import gradekeeper.kit.Desk;
import shop.Basket;

public final class Till {
    public static void m01(Desk desk) {
        Basket basket = new Basket();
        basket.add(desk.number("pieces"), desk.number("price"));
        desk.observe("a", basket::total);
    }

    public static void m02(Desk desk) {
        Basket basket = new Basket();
        basket.add(1, desk.number("large"));
        desk.observe("a", basket::total);
    }
}
